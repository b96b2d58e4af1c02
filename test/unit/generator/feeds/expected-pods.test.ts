import assert from "node:assert/strict";
import { test } from "node:test";
import { type FloorTarget } from "../../../../src/api/v1alpha1/pod-protector.ts";
import {
  type ExpectedAnswer,
  ExpectedPods,
  type ExpectedPodsOptions,
  podOwnersOf,
} from "../../../../src/generator/feeds/expected-pods.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { createInformer } from "../../../../src/kube/watch/index.ts";
import { Discovery } from "../../../../src/scale/discovery.ts";
import { ScaleMemory } from "../../../../src/scale/scale-memory.ts";
import { type ScaledKind } from "../../../../src/sources/scaled-kind.ts";
import { type SourceRecord } from "../../../../src/sources/source.ts";
import { builtInResources } from "../../../double/index.ts";
import { databaseBody, scaledCrd } from "../../../double/scaled-crd.ts";
import { EngineClient } from "../../../support/engine-client.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createCountingMetrics } from "../../kube/counting-metrics.ts";
import { createRecordingLogger } from "../../observability/recording-logger.ts";
import { createCore } from "../core-cluster.ts";

const selector = { matchLabels: { app: "web" } };

async function start(refused?: RegExp, isLost: ExpectedPodsOptions["isLost"] = async () => false) {
  const core = await createCore();
  const client = new EngineClient("core", core.engine);
  const error = new KubeError("forbidden", "403");
  client.onRequest = (_, what) => (refused?.test(what) === true ? error : undefined);
  const { clock } = core;
  const common = { client, clock, rng: createSeededRng(1), logger: createRecordingLogger() };
  const metrics = createCountingMetrics();
  const create: ExpectedPodsOptions["create"] = (resource, decode) =>
    createInformer({ ...common, metrics, resource, decode, name: resource.resource });
  const discovery = new Discovery({ client, clock });
  const kinds = podOwnersOf(["poddisruptionbudgets.policy"]);
  const expected = new ExpectedPods({ kinds, create, discovery, memory: new ScaleMemory(client), isLost, clock });
  const changes: string[] = [];
  const life = new AbortController();
  const onChange = (namespace: string, labels: readonly object[] | undefined): void =>
    void changes.push(`${namespace} ${JSON.stringify(labels)}`);
  expected.subscribe({ onChange, onListed: () => changes.push("listed") });
  const running = expected.run(life.signal);
  await clock.advance(1_000);
  return {
    ...core,
    expected,
    changes,
    ask: async () => {
      const asked = expected.of("default", selector, life.signal);
      await clock.advance(15_000);
      return await asked;
    },
    askTargets: async (...targets: FloorTarget[]) => {
      const asked = expected.ofTargets("default", targets, life.signal);
      await clock.advance(15_000);
      return await asked;
    },
    vanished: (answer: ExpectedAnswer) => expected.vanished(answer.kind === "known" ? answer.members : []),
    client,
    stop: async () => {
      life.abort();
      await clock.advance(0);
      await running;
    },
  };
}

test("kinds with a pod template are those of Kubernetes, and those that are named", () => {
  const names = podOwnersOf(["databases.example.com", "clonesets.apps.kruise.io", "poddisruptionbudgets.policy"]);
  assert.deepEqual(
    names.map(({ resource }) => resource.resource),
    ["deployments", "statefulsets", "replicasets", "replicationcontrollers", "clonesets"],
  );
});

test("the replicas of workloads are known without pods, and who asks learns what may have changed", async () => {
  const { changes, ask, createDeployment, patchDeployment, clock, stop } = await start();
  assert.deepEqual(changes, [], "nothing is watched before somebody asks");
  assert.deepEqual(await ask(), { kind: "unmanaged" });
  assert.deepEqual(
    changes,
    Array.from({ length: 5 }, () => "listed"),
    "pods and four kinds of workloads",
  );
  await createDeployment("web");
  await clock.advance(1_000);
  assert.equal(changes.at(-1), 'default [{"app":"web"}]');
  assert.partialDeepStrictEqual(await ask(), { kind: "known", replicas: 10, hasBarePods: false, lacking: undefined });
  const before = changes.length;
  await patchDeployment("web", { metadata: { labels: { a: "b" } } });
  await clock.advance(1_000);
  assert.equal(changes.length, before, "nothing that matters");
  await stop();
});

test("what may not be listed is said, with what is known, and without anything else there is no answer", async () => {
  const { ask, createDeployment, clock, stop } = await start(/statefulsets/);
  const lacking = { kind: "lasting", problem: "forbidden" };
  assert.partialDeepStrictEqual(await ask(), { kind: "unknown", trouble: lacking });
  await createDeployment("web");
  await clock.advance(1_000);
  assert.partialDeepStrictEqual(await ask(), { kind: "known", replicas: 10, lacking });
  await stop();
});

test("workloads that are named need no list of pods, and one that is gone undeleted has vanished", async () => {
  const { askTargets, vanished, client, createDeployment, deleteDeployment, patchDeployment, clock, engine, stop } =
    await start();
  const web: FloorTarget = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
  const missing = { kind: "lasting", text: "targets[0]: Deployment web is not there" };
  assert.partialDeepStrictEqual(await askTargets(web), { kind: "unknown", trouble: missing });
  await createDeployment("web");
  await clock.advance(1_000);
  const answer = await askTargets(web);
  assert.partialDeepStrictEqual(answer, { kind: "known", replicas: 10, hasBarePods: false });
  assert.equal(client.count(/\/pods\b/), 0);
  assert.equal(await vanished(answer), undefined);
  engine.wipe(builtInResources.deployments);
  await clock.advance(30_000);
  assert.equal((await vanished(answer))?.owner.object.name, "web");
  await createDeployment("web");
  await patchDeployment("web", { metadata: { finalizers: ["example.com/wait"] } });
  await clock.advance(1_000);
  const again = await askTargets(web);
  await deleteDeployment("web");
  await clock.advance(1_000);
  await patchDeployment("web", { metadata: { finalizers: null } });
  await clock.advance(1_000);
  assert.equal(await vanished(again), undefined, "it was deleted");
  await stop();
});

test("workloads that were deleted with their CRD are lacking, and a server in trouble leaves that open", async () => {
  let lost: KubeError | boolean = false;
  const { askTargets, engine, clock, stop } = await start(undefined, async ({ apiVersion, kind }) => {
    assert.equal(`${kind} of ${apiVersion}`, "Database of example.com/v1");
    if (lost instanceof KubeError) throw lost;
    return lost;
  });
  const type = await engine.installCrd(scaledCrd());
  const metadata = { labels: { team: "shop" }, finalizers: ["example.com/wait"] };
  for (const name of ["one", "two"]) await engine.create(type, "default", databaseBody(name, { members: 4 }, metadata));
  const databases = { apiVersion: "example.com/v1", kind: "Database", selector: { matchLabels: { team: "shop" } } };
  assert.partialDeepStrictEqual(await askTargets(databases), { replicas: 8, lacking: undefined });
  await engine.delete(type, "default", "one");
  await clock.advance(1_000);
  assert.partialDeepStrictEqual(await askTargets(databases), { replicas: 4, lacking: undefined });
  lost = true;
  assert.partialDeepStrictEqual(await askTargets(databases), { replicas: 4, lacking: { kind: "lasting" } });
  lost = new KubeError("serverError", "503");
  assert.partialDeepStrictEqual(await askTargets(databases), { replicas: 4, lacking: { kind: "notNow" } });
  await stop();
});

test("what custom resources write into their status all the time makes nobody look", async () => {
  const { changes, expected, stop } = await start();
  const resource = { group: "example.com", version: "v1", resource: "databases" };
  const handler = expected.customHandler({ resource, kind: "Database" } as ScaledKind);
  const selector = { matchLabels: { app: "web" } };
  const record = (replicas: number, more: object = {}) =>
    ({
      namespace: "shop",
      name: "a",
      uid: "u",
      isTerminating: false,
      spec: { replicas, selector },
      ...more,
    }) as unknown as SourceRecord;
  handler.onEvent({ type: "added", object: record(3) });
  assert.deepEqual(changes.splice(0), ["shop undefined"]);
  handler.onEvent({ type: "modified", object: record(3), previous: record(3) });
  assert.deepEqual(changes.splice(0), []);
  const others = [record(4), record(3, { isTerminating: true }), record(3, { spec: { replicas: 3, selector: {} } })];
  for (const object of others) {
    handler.onEvent({ type: "modified", object, previous: record(3) });
    assert.deepEqual(changes.splice(0), ["shop undefined"]);
  }
  handler.onEvent({ type: "deleted", object: record(3) });
  assert.deepEqual(changes.splice(0), ["shop undefined"]);
  await stop();
});
