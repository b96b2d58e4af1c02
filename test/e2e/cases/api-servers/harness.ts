/** Cases without Podseidon: they prove the ground that the others stand on. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { type Cluster } from "../../clusters/cluster.ts";
import { applyCrd } from "../../objects/crd.ts";
import { deletePods, deletionFigures } from "../../objects/deletions.ts";
import { kubectl } from "../../clusters/kubectl.ts";
import { startKubelet } from "../../objects/kubelet.ts";
import { startLaggingProxy } from "../../fleet/lagging-proxy.ts";
import { createNamespace, createPods, isServing, listPods } from "../../objects/pods.ts";
import { PodWatch } from "../../objects/pod-watch.ts";
import { freePorts } from "../../clusters/ports.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { second, waitFor } from "../../clusters/wait.ts";
import {
  applyWebhookConfiguration,
  removeWebhookConfiguration,
  waitUntilInForce,
} from "../../objects/webhook-configuration.ts";

const crdFile = fileURLToPath(new URL("../../../../manifests/base/crd/podprotectors.yaml", import.meta.url));

export const harnessCases = e2eCases({
  "harness: a Deployment runs on a real control plane": [120 * second, deploymentRuns],
  "harness: 300 pods are watched, refused by a webhook, deleted and evicted": [120 * second, massDeletion],
  "harness: API server, etcd and network fail and come back, custom resources included": [180 * second, faults],
});

const labels = { app: "web" };

function deployment(replicas: number): unknown {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "none" }] } },
    },
  };
}

async function deploymentRuns(context: CaseContext): Promise<Figures> {
  const { namespace } = context;
  const cluster = await context.cluster("worker-1");
  const { admin } = cluster;
  await createNamespace(admin, namespace);
  const kubelet = startKubelet({ admin, namespace, bindTo: "node-0" });
  context.cleanup(() => kubelet.stop());
  const serving = async (count: number): Promise<void> => {
    await waitFor(`${count} pods serve`, 30 * second, async () => {
      const pods = await listPods(admin, namespace, "app=web");
      return pods.length === count && pods.every(isServing);
    });
  };
  const startMs = performance.now();
  await admin.create(`/apis/apps/v1/namespaces/${namespace}/deployments`, deployment(5));
  await serving(5);
  const readyMs = Math.round(performance.now() - startMs);

  const scale = await run(context, cluster, "scale", "deployment/web", "--replicas=2", `--namespace=${namespace}`);
  assert.match(scale, /scaled/);
  await serving(2);

  const token = await cluster.serviceAccountToken(namespace, await defaultServiceAccount(cluster, namespace));
  assert.equal(token.split(".").length, 3);
  const version = JSON.parse(await run(context, cluster, "version", "--output=json")) as {
    serverVersion: { gitVersion: string };
  };
  assert.deepEqual(kubelet.failures, []);
  return { readyMs, version: version.serverVersion.gitVersion };
}

async function defaultServiceAccount(cluster: Cluster, namespace: string): Promise<string> {
  await waitFor("the default ServiceAccount exists", 30 * second, async () => {
    const { code } = await cluster.admin.request("GET", `/api/v1/namespaces/${namespace}/serviceaccounts/default`);
    return code === 200;
  });
  return "default";
}

async function run(context: CaseContext, cluster: Cluster, ...args: readonly string[]): Promise<string> {
  const options = { kubectl: context.assets.kubectl, processes: context.processes, cluster };
  const { code, stdout, stderr } = await kubectl(options, ...args);
  assert.equal(code, 0, stderr);
  return stdout;
}

async function massDeletion(context: CaseContext): Promise<Figures> {
  const { namespace } = context;
  const { admin } = await context.cluster("worker-2");
  await createNamespace(admin, namespace);
  const startMs = performance.now();
  const names = await createPods(admin, { namespace, count: 300, namePrefix: "web", labels });
  const createMs = Math.round(performance.now() - startMs);
  const watch = new PodWatch({ admin, namespace, labelSelector: "app=web" });
  context.cleanup(() => watch.stop());
  await waitFor("the watch has all pods", 10 * second, () => watch.servingCount === 300);
  watch.resetMinimum();

  // Nobody listens on this port, so with failurePolicy Fail no deletion passes.
  const [port = 0] = await freePorts(1);
  const url = `https://127.0.0.1:${port}/worker-2`;
  await applyWebhookConfiguration(admin, { name: namespace, url, caPem: "", namespace });
  context.cleanup(() => removeWebhookConfiguration(admin, namespace));
  await waitUntilInForce(admin, namespace, namespace, "web-0");
  const blocked = await deletePods(admin, { namespace, names: names.slice(0, 10), concurrency: 10, how: "delete" });
  assert.deepEqual(deletionFigures(blocked), { deleted: 0, refused: 0, otherwise: 10, p50Ms: 0, p99Ms: 0 });
  assert.equal(watch.servingMinimum, 300);
  await removeWebhookConfiguration(admin, namespace);
  await waitFor("deletions pass again", 10 * second, async () => {
    const [attempt] = await deletePods(admin, {
      namespace,
      names: ["web-0"],
      concurrency: 1,
      how: "delete",
      dryRun: true,
    });
    return attempt?.code === 200;
  });

  const kubelet = startKubelet({ admin, namespace });
  context.cleanup(() => kubelet.stop());
  const how = { namespace, concurrency: 96 };
  const deleted = await deletePods(admin, { ...how, names: names.slice(0, 200), how: "delete", gracePeriodSeconds: 0 });
  const evicted = await deletePods(admin, { ...how, names: names.slice(200, 290), how: "evict" });
  assert.equal(deletionFigures(evicted).deleted, 90);
  await waitFor("ten pods are left", 30 * second, () => watch.pods().length === 10);
  assert.equal(watch.servingMinimum, 10);
  assert.deepEqual(kubelet.failures, []);
  return { createMs, ...deletionFigures(deleted), evicted: 90, left: watch.pods().length };
}

async function faults(context: CaseContext): Promise<Figures> {
  const cluster = await context.cluster("core");
  const { admin } = cluster;
  await createNamespace(admin, context.namespace);
  const ping = (): Promise<unknown> => admin.get(`/api/v1/namespaces/${context.namespace}`);

  // Twice, because every cluster gets it again in later cases.
  for (let round = 0; round < 2; round++) await applyCrd(admin, crdFile);

  const restartStartMs = performance.now();
  await cluster.restartApiServer();
  const restartMs = Math.round(performance.now() - restartStartMs);
  await ping();
  await cluster.killApiServer();
  await assert.rejects(ping());
  await cluster.startApiServer();
  await ping();

  cluster.pauseEtcd();
  context.cleanup(() => cluster.resumeEtcd());
  const path = `/api/v1/namespaces/${context.namespace}/configmaps`;
  const write = admin.create(path, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "late" } });
  await assert.rejects(admin.request("GET", `${path}/late`, { timeoutMs: second }));
  cluster.resumeEtcd();
  await write;

  const proxy = await startLaggingProxy([cluster.port]);
  context.cleanup(() => proxy.close());
  const options = { kubectl: context.assets.kubectl, processes: context.processes, cluster };
  const server = `--server=https://127.0.0.1:${proxy.port}`;
  const through = (): ReturnType<typeof kubectl> => kubectl(options, server, "get", "--raw=/readyz");
  assert.equal((await through()).stdout, "ok");
  proxy.setDelay(second);
  const lagStartMs = performance.now();
  assert.equal((await through()).stdout, "ok");
  const lagMs = Math.round(performance.now() - lagStartMs);
  assert.ok(lagMs >= 2 * second, `handshake and answer are delayed by a second each, but it took ${lagMs} ms`);
  proxy.cut();
  assert.notEqual((await through()).code, 0);
  proxy.setDelay(0);
  proxy.heal();
  assert.equal((await through()).stdout, "ok");
  return { restartMs, lagMs };
}
