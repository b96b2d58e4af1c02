import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type TestCluster, createTestCluster, installWebhook, mergePatch, podBody } from "../cluster.ts";
import { type ControllerOptions, startControllers } from "./index.ts";
import { type KubeObject, asObject } from "../engine/object.ts";
import { builtInResources as types } from "../engine/resources.ts";

async function clusterWithControllers(t: TestContext, options: ControllerOptions = {}): Promise<TestCluster> {
  const cluster = await createTestCluster();
  const controllers = await startControllers(cluster.engine, {
    nodes: ["node-1", "node-2"],
    readyDelayMs: 1000,
    ...options,
  });
  t.after(() => controllers.stop());
  return cluster;
}

async function deploy(
  { engine }: TestCluster,
  replicas: number,
  more: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "main", image: "web:1" }] } };
  const spec = { replicas, selector: { matchLabels: { app: "web" } }, template, ...more };
  await engine.create(types.deployments, "default", {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec,
  });
}

async function setImage({ engine }: TestCluster, image: string): Promise<void> {
  const containers = [{ name: "main", image }];
  await engine.patch(types.deployments, "default", "web", mergePatch({ spec: { template: { spec: { containers } } } }));
}

function statusOf({ engine }: TestCluster): Readonly<Record<string, unknown>> {
  return asObject(engine.get(types.deployments, "default", "web").status);
}
function isReady(pod: KubeObject): boolean {
  const conditions = (pod.status?.["conditions"] ?? []) as { type: string; status: string }[];
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}
function livePods({ engine }: TestCluster): readonly KubeObject[] {
  return engine.list(types.pods).items.filter((pod) => pod.metadata.deletionTimestamp === undefined);
}

test("a Deployment brings up pods that are scheduled over the nodes and become ready after the delay", async (t) => {
  const cluster = await clusterWithControllers(t);
  await deploy(cluster, 4);
  await cluster.clock.advance(999);
  assert.equal(livePods(cluster).filter(isReady).length, 0);
  await cluster.clock.advance(2);
  assert.equal(livePods(cluster).filter(isReady).length, 4);
  const onFirst = livePods(cluster).filter((pod) => pod.spec?.["nodeName"] === "node-1");
  assert.equal(onFirst.length, 2);
  await cluster.clock.advance(10);
  assert.deepEqual([statusOf(cluster)["replicas"], statusOf(cluster)["availableReplicas"]], [4, 4]);
});

test("a pod that names another scheduler stays without a node", async (t) => {
  const cluster = await clusterWithControllers(t);
  const spec = { schedulerName: "nobody", containers: [{ name: "main", image: "web:1" }] };
  await cluster.engine.create(types.pods, "default", { ...podBody("dummy"), spec });
  await cluster.engine.create(types.pods, "default", podBody("usual"));
  await cluster.clock.advance(5000);
  const nodes = livePods(cluster).map(({ metadata, spec }) => [metadata.name, spec?.["nodeName"]]);
  assert.deepEqual(nodes, [
    ["dummy", undefined],
    ["usual", "node-1"],
  ]);
});

test("a rolling update keeps to maxUnavailable and maxSurge at every moment", async (t) => {
  const cluster = await clusterWithControllers(t, { terminationMs: 500 });
  await deploy(cluster, 8, {
    strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: "25%" } },
  });
  await cluster.clock.advance(2000);
  await setImage(cluster, "web:2");
  for (let step = 0; step < 200; step += 1) {
    await cluster.clock.advance(50);
    const live = livePods(cluster);
    assert.ok(live.filter(isReady).length >= 6, `${live.filter(isReady).length} ready`);
    assert.ok(live.length <= 10, `${live.length} pods`);
  }
  const images = new Set(livePods(cluster).map((pod) => JSON.stringify(pod.spec?.["containers"]).includes("web:2")));
  assert.deepEqual([...images], [true]);
  assert.deepEqual([statusOf(cluster)["updatedReplicas"], statusOf(cluster)["availableReplicas"]], [8, 8]);
});

test("a rolling update waits for minReadySeconds", async (t) => {
  const cluster = await clusterWithControllers(t, { readyDelayMs: 0 });
  await deploy(cluster, 2, { minReadySeconds: 60, strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } });
  await cluster.clock.advance(61_000);
  await setImage(cluster, "web:2");
  await cluster.clock.advance(59_000);
  assert.equal(livePods(cluster).length, 3, "no old pod goes before the first new one is available");
  await cluster.clock.advance(120_000);
  assert.equal(livePods(cluster).length, 2);
});

test("a refused deletion is tried again with a backoff that doubles", async (t) => {
  const cluster = await clusterWithControllers(t);
  await deploy(cluster, 1);
  await cluster.clock.advance(2000);
  await installWebhook(cluster.engine);
  const timesMs: number[] = [];
  cluster.decide(() => {
    timesMs.push(cluster.clock.monotonicMs() - 2000);
    return { allowed: false, status: { code: 429, message: "floor" } };
  });
  await cluster.engine.patch(types.deployments, "default", "web", mergePatch({ spec: { replicas: 0 } }));
  await cluster.clock.advance(100);
  // The status update of the ReplicaSet brings one more try at once, as in the real controller.
  assert.deepEqual(timesMs, [0, 0, 10, 30, 70]);
});

test("the kubelet's confirmation of a deletion goes through admission with the deletionTimestamp set", async (t) => {
  const cluster = await clusterWithControllers(t, { terminationMs: 700 });
  await installWebhook(cluster.engine);
  await deploy(cluster, 1);
  await cluster.clock.advance(2000);
  const [pod] = livePods(cluster);
  await cluster.engine.delete(types.pods, "default", pod!.metadata.name);
  await cluster.clock.advance(699);
  assert.notEqual(cluster.engine.find(types.pods, "default", pod!.metadata.name), undefined);
  await cluster.clock.advance(10);
  assert.equal(cluster.engine.find(types.pods, "default", pod!.metadata.name), undefined);
  const users = cluster.reviews.map((request) => asObject(request["userInfo"])["username"]);
  assert.deepEqual([users[0], users.at(-1)], ["system:admin", `system:node:${String(pod!.spec?.["nodeName"])}`]);
});

test("deleting a Deployment removes its ReplicaSets and pods", async (t) => {
  const cluster = await clusterWithControllers(t);
  await deploy(cluster, 3);
  await cluster.clock.advance(2000);
  await cluster.engine.delete(types.deployments, "default", "web");
  await cluster.clock.advance(1000);
  assert.equal(cluster.engine.list(types.replicaSets).items.length, 0);
  assert.equal(cluster.engine.list(types.pods).items.length, 0);
});

test("an orphaning deletion leaves the ReplicaSet, and the pods in its care", async (t) => {
  const cluster = await clusterWithControllers(t);
  await deploy(cluster, 3);
  await cluster.clock.advance(2000);
  await cluster.engine.delete(types.deployments, "default", "web", { propagationPolicy: "Orphan" });
  await cluster.clock.advance(1000);
  assert.equal(cluster.engine.find(types.deployments, "default", "web"), undefined);
  const [set] = cluster.engine.list(types.replicaSets).items;
  assert.equal(set?.metadata.ownerReferences, undefined);
  assert.equal(livePods(cluster).length, 3);
});

test("a foreground deletion ends with the owner, after all dependents", async (t) => {
  const cluster = await clusterWithControllers(t, { terminationMs: 5000 });
  await deploy(cluster, 2);
  await cluster.clock.advance(2000);
  await cluster.engine.delete(types.deployments, "default", "web", { propagationPolicy: "Foreground" });
  await cluster.clock.advance(4000);
  assert.notEqual(cluster.engine.find(types.deployments, "default", "web"), undefined);
  await cluster.clock.advance(2000);
  assert.equal(cluster.engine.list(types.pods).items.length, 0);
  assert.equal(cluster.engine.find(types.deployments, "default", "web"), undefined);
});

test("the same seed gives the same cluster", async (t) => {
  const run = async (): Promise<string> => {
    const cluster = await clusterWithControllers(t, { terminationMs: 300 });
    await deploy(cluster, 5);
    await cluster.clock.advance(3000);
    await setImage(cluster, "web:2");
    await cluster.clock.advance(20_000);
    return JSON.stringify(cluster.engine.list(types.pods));
  };
  assert.equal(await run(), await run());
});
