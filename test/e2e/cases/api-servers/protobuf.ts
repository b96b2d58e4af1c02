/** Pods as protobuf: what a real API server sends is read as its JSON is. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { type PodRecord, readPodRecord } from "../../../../src/api/pod.ts";
import { isKubeError, type KubeClient, resourcePath } from "../../../../src/kube/kube-client.ts";
import { createInformer } from "../../../../src/kube/watch/index.ts";
import { podProtectors, pods } from "../../../../src/kube/resources.ts";
import { createKubeClient } from "../../../../src/kube/transport/index.ts";
import { silentLogger } from "../../../../src/util/logger.ts";
import { silentMetrics } from "../../../../src/util/metrics.ts";
import { createSystemRng } from "../../../../src/util/rng.ts";
import { createSystemClock } from "../../../../src/util/system-clock.ts";
import { compareExchange } from "../../../unit/kube/protobuf/exchange.ts";
import { plainCluster } from "../../../support/cluster-config.ts";
import { type ObjectList } from "../../clusters/admin-client.ts";
import { type Cluster } from "../../clusters/cluster.ts";
import { applyCrd } from "../../objects/crd.ts";
import { createNamespace, createPods, podPath, setPodReady } from "../../objects/pods.ts";
import { createVariedPods, exchangePods, removeVariedPods } from "../../objects/protobuf-exchanges.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { second, waitFor } from "../../clusters/wait.ts";

const crdFile = fileURLToPath(new URL("../../../../manifests/base/crd/podprotectors.yaml", import.meta.url));

export const protobufCases = e2eCases({
  "protobuf: lists, watches and refusals are decoded field by field as their JSON": [120 * second, sameFields],
  "protobuf: an informer holds the same pods as by JSON, and custom resources come as JSON": [60 * second, samePods],
});

async function sameFields(context: CaseContext): Promise<Figures> {
  const { namespace } = context;
  const cluster = await context.cluster("worker-1");
  await createNamespace(cluster.admin, namespace);
  const before = await createVariedPods(cluster, namespace);
  context.cleanup(() => removeVariedPods(cluster, namespace));
  const exchanges = await exchangePods(cluster, namespace, before);
  let objects = 0;
  for (const exchange of exchanges) objects += await compareExchange(exchange);
  return { exchanges: exchanges.length, objects };
}

async function samePods(context: CaseContext): Promise<Figures> {
  const { namespace } = context;
  const cluster = await context.cluster("worker-1");
  const { admin } = cluster;
  await createNamespace(admin, namespace);
  const client = await connect(cluster);
  context.cleanup(() => client.close());
  await createPods(admin, { namespace, count: 20, namePrefix: "early", labels: { app: "web" } });

  const informer = createInformer<PodRecord>({
    client,
    resource: pods,
    namespace,
    preferProtobuf: true,
    decode: (raw) => readPodRecord(raw),
    clock: createSystemClock(),
    rng: createSystemRng(),
    logger: silentLogger,
    metrics: silentMetrics,
    name: "pods",
  });
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  context.cleanup(() => {
    stop.abort();
    return running;
  });
  await waitFor("the informer is synced", 20 * second, () => informer.hasSynced());
  const names = await createPods(admin, { namespace, count: 10, namePrefix: "late", labels: { app: "api" } });
  await setPodReady(admin, { namespace, name: names[0]! }, { ready: false });
  await admin.remove(podPath(namespace, names[1]!), { gracePeriodSeconds: 0 });
  await admin.remove(podPath(namespace, names[2]!));

  const { items } = await admin.get<ObjectList<unknown>>(`/api/v1/namespaces/${namespace}/pods`);
  const expected = new Map(items.map((item) => readPodRecord(item)!).map((pod) => [pod.key, pod]));
  assert.equal(expected.size, 29);
  await waitFor("the informer holds what JSON says", 20 * second, () => {
    const held = new Map([...informer.values()].map((pod) => [pod.key, pod]));
    assert.deepEqual(held, expected);
    return true;
  });
  const lateError = informer.lastError();
  assert.equal(lateError, undefined);

  // A resource without protobuf: the same request is answered in JSON.
  await applyCrd(admin, crdFile);
  const list = await client.request({ method: "GET", path: resourcePath(podProtectors), preferProtobuf: true });
  assert.equal((list as { kind?: unknown }).kind, "PodProtectorList");
  const missing = client.request({ method: "GET", path: podPath(namespace, "none"), preferProtobuf: true });
  await assert.rejects(missing, (error) => isKubeError(error, "notFound") && error.status?.reason === "NotFound");
  return { pods: informer.size };
}

function connect(cluster: Cluster): Promise<KubeClient> {
  return createKubeClient(
    {
      ...plainCluster,
      kubeConfigPath: cluster.kubeconfigPath("admin"),
      userAgent: "podseidon-e2e",
    },
    { clock: createSystemClock(), rng: createSystemRng(), logger: silentLogger, metrics: silentMetrics },
    "worker",
  );
}
