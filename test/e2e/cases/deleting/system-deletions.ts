/**
 * Deletions that Kubernetes itself asks for, each by the program that asks for it in every cluster, of pods that are
 * exactly at their floor. What they lead to is the table of docs/system-deletions.md.
 */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { type AdminClient } from "../../clusters/admin-client.ts";
import { Fleet, startFleet } from "../../fleet/fleet.ts";
import { createNode, removeNode } from "../../clusters/nodes.ts";
import { createNamespace, createPods, isServing, listPods, podPath, setPodReady } from "../../objects/pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { type DeletionRequest, SystemDrill } from "../../installed/system-drill.ts";
import { second, waitFor } from "../../clusters/wait.ts";

export const nodeUser = "system:node:node-0";
const account = (controller: string): string => `system:serviceaccount:kube-system:${controller}`;
const garbageCollector = account("generic-garbage-collector");
/** The taint-eviction-controller has the account of the node controller that it once was a part of. */
const taintEviction = account("node-controller");
const podGarbageCollector = account("pod-garbage-collector");
const namespaceController = account("namespace-controller");
const scheduler = "system:kube-scheduler";
/** A pod's node must be missing for 40 s, looked at every 20 s. */
const orphanLimitMs = 100 * second;

export const systemDeletionCases = e2eCases({
  "system: kubelet, garbage collectors, taint eviction, preemption and namespace deletion meet the floor": [
    300 * second,
    systemDeletions,
  ],
});

async function systemDeletions(context: CaseContext): Promise<Figures> {
  const fleet = await startFleet(context, { core: "system", workers: ["system"], allInOne: true });
  const drill = new SystemDrill(context, fleet);
  await drill.playKubelet({});
  const orphaned = podsOfMissingNode(context, fleet);
  orphaned.catch(() => undefined); // it is awaited below
  await byKubeletAndByHand(context, drill);
  const figures = {
    ...(await byGarbageCollector(drill)),
    ...(await byTaint(drill)),
    ...(await byPreemption(context, drill)),
    ...(await byNamespaceDeletion(drill)),
    ...(await orphaned),
  };
  for (const line of summary(drill.requests())) context.say(line);
  // Its generator would put its finalizer on the Deployment of the worker, which is this cluster, and would then never
  // take it off: its Lease has gone with the namespace.
  await fleet.generator?.terminate();
  const worker = await byNamespaceDeletionInWorker({ ...context, namespace: `${context.namespace}-worker` });
  return { ...figures, ...worker };
}

/** What a kubelet asks for at the end of a pod, and what it and people ask for when a pod still runs. */
async function byKubeletAndByHand(context: CaseContext, drill: SystemDrill): Promise<void> {
  const app = "kept";
  const { cluster, namespace, fleet } = drill;
  const available = await drill.atFloor(app, {
    replicas: 2,
    podSpec: { nodeSelector: { "kubernetes.io/hostname": "node-0" } },
  });
  await fleet.waitIntercepted();
  const kubelet = await nodeClient(context, drill);
  const [pod] = await drill.pods(app);
  assert.ok(pod !== undefined);
  assert.equal(
    await finish(kubelet, drill, pod.metadata),
    429,
    "the pod runs, as a mirror pod does that kubelet deletes",
  );
  const forced = await drill.kubectl("delete", "pod", pod.metadata.name, "--force", "--grace-period=0");
  assert.equal(forced.code, 1);
  assert.match(forced.stderr, /too few available replicas/);
  context.say(forced.stderr.trim());

  const [first = ""] = await drill.lendQuota(app, 1, 1);
  await drill.playKubelet({ terminationDelayMs: "never" });
  const graceful = await drill.kubectl("delete", "pod", first, "--wait=false");
  assert.equal(graceful.code, 0, graceful.stderr);
  await fleet.waitSettled(`deployment-${app}`, 20 * second);
  const terminating = await drill.admin.get(podPath(namespace, first));
  const written = await fleet.webhookCount("webhook_status_write_total");
  const reviews = await drill.reviews("AlreadyTerminating");
  assert.equal(await finish(kubelet, drill, terminating.metadata), 200);
  assert.equal(await fleet.webhookCount("webhook_status_write_total"), written, "nothing to record");
  assert.equal(await drill.reviews("AlreadyTerminating"), reviews, "a pod that is terminating is not asked about");
  assert.equal((await cluster.admin.request("GET", podPath(namespace, first))).code, 404);

  await drill.playKubelet({});
  const [next = ""] = await drill.lendQuota(app, 1, 2);
  const admitted = await drill.kubectl("delete", "pod", next, "--force", "--grace-period=0");
  assert.equal(admitted.code, 0, admitted.stderr);
  await fleet.waitCounted(`deployment-${app}`, 2);
  assert.equal(available.minimum, 2);
}

/** A client with the rights of a kubelet: those of its role, within what NodeRestriction lets its node do. */
async function nodeClient(context: CaseContext, { cluster }: SystemDrill): Promise<AdminClient> {
  const name = "e2e-nodes";
  await cluster.admin.apply(`/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/${name}`, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "system:node" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "system:nodes" }],
  });
  const client = cluster.client(nodeUser);
  context.cleanup(() => client.close());
  return client;
}

/** The request with which a kubelet ends a pod. Resolves to the answer's code. */
async function finish(
  kubelet: AdminClient,
  { namespace }: SystemDrill,
  { name, uid }: { readonly name: string; readonly uid: string },
): Promise<number> {
  const body = { apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds: 0, preconditions: { uid } };
  return (await kubelet.request("DELETE", podPath(namespace, name), { body })).code;
}

/** A lost ReplicaSet at the floor, and a Deployment that is deleted in the foreground. */
async function byGarbageCollector(drill: SystemDrill): Promise<Figures> {
  const app = "collected";
  const replicas = 3;
  const { admin, namespace } = drill;
  const available = await drill.atFloor(app, { replicas });
  const old = new Set((await drill.pods(app)).map(({ metadata }) => metadata.name));
  // The Deployment makes another one at once, whose pods are not Ready yet.
  await drill.playKubelet({ readyDelayMs: "never" });
  await admin.remove(`/apis/apps/v1/namespaces/${namespace}/replicasets/${await drill.replicaSet(app)}`);
  const refused = await drill.waitRefused(app, garbageCollector, 8 * replicas);
  assert.equal(available.serving, replicas);
  const replacedMs = performance.now();
  await drill.playKubelet({});
  await waitFor("the garbage collector has deleted the old pods", 40 * second, async () => {
    const names = (await drill.pods(app)).map(({ metadata }) => metadata.name);
    return names.length === replicas && names.every((name) => !old.has(name));
  });
  const gcDoneMs = Math.round(performance.now() - replacedMs);
  assert.equal(available.minimum, replicas);

  const foregroundMs = performance.now();
  const result = await drill.kubectl("delete", "deployment", app, "--cascade=foreground", "--timeout=30s");
  assert.equal(result.code, 0, result.stderr);
  await drill.waitNoPods(app);
  return {
    gcRefusals: refused.length,
    gcPausesMs: pauses(refused, refused[0]?.pod ?? ""),
    gcDoneMs,
    foregroundMs: Math.round(performance.now() - foregroundMs),
  };
}

/** A NoExecute taint on the node of all pods, first at the floor, then changed when there is quota. */
async function byTaint(drill: SystemDrill): Promise<Figures> {
  const app = "tainted";
  const replicas = 2;
  const { admin } = drill;
  const node = "/api/v1/nodes/node-1";
  const taint = (value: string): Promise<unknown> =>
    admin.mergePatch(node, { spec: { taints: [{ key: "e2e", value, effect: "NoExecute" }] } });
  const available = await drill.atFloor(app, {
    replicas,
    podSpec: { nodeSelector: { "kubernetes.io/hostname": "node-1" } },
  });
  await taint("first");
  const refused = await drill.waitRefused(app, taintEviction, 5 * replicas);
  await drill.lendQuota(app, replicas);
  await delay(2 * second);
  const requests = drill.requests(app);
  assert.equal(requests.length, refused.length, "it does not come back");
  assert.ok(available.minimum >= replicas);
  await taint("second");
  await waitFor("the tainted node is empty", 20 * second, async () => {
    const pods = await drill.pods(app);
    return pods.every(({ spec }) => spec.nodeName !== "node-1");
  });
  assert.equal(available.minimum, replicas);
  await admin.mergePatch(node, { spec: { taints: null } });
  const [firstRefusal, lastRefusal] = [refused[0]?.atMs ?? 0, refused.at(-1)?.atMs ?? 0];
  return { taintRefusals: refused.length, taintTriesMs: lastRefusal - firstRefusal };
}

/** An urgent pod that needs the place of one at the floor. */
async function byPreemption(context: CaseContext, drill: SystemDrill): Promise<Figures> {
  const app = "preempted";
  const replicas = 2;
  const { admin, namespace } = drill;
  const [small, urgent] = [`${namespace}-small`, `${namespace}-urgent`];
  await createNode(admin, small, { cpu: String(replicas), memory: "10Gi", pods: "10" });
  context.cleanup(() => removeNode(admin, small));
  const place = {
    podSpec: { nodeSelector: { "kubernetes.io/hostname": small } },
    container: { resources: { requests: { cpu: "1" } } },
  };
  const available = await drill.atFloor(app, { replicas, ...place });
  const priorityClass = { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: { name: urgent } };
  await admin.create("/apis/scheduling.k8s.io/v1/priorityclasses", { ...priorityClass, value: 1_000 });
  context.cleanup(() => admin.remove(`/apis/scheduling.k8s.io/v1/priorityclasses/${urgent}`));
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "urgent" },
    spec: {
      ...place.podSpec,
      priorityClassName: urgent,
      containers: [{ name: "main", image: "none", ...place.container }],
    },
  };
  await waitFor("the API server knows the PriorityClass", 10 * second, () =>
    admin.create(`/api/v1/namespaces/${namespace}/pods`, pod),
  );
  const startMs = performance.now();
  const refused = await drill.waitRefused(app, scheduler, 20);
  const perSecond = Math.round((1_000 * refused.length) / (performance.now() - startMs));
  assert.equal(available.minimum, replicas);
  const lentMs = performance.now();
  await drill.lendQuota(app, 1);
  await waitFor("the urgent pod has a node", 40 * second, async () => {
    const { spec } = await admin.get<{ spec: { nodeName?: string } }>(podPath(namespace, "urgent"));
    return spec.nodeName === small;
  });
  const preemptedMs = Math.round(performance.now() - lentMs);
  assert.equal(available.minimum, replicas);
  return { preemptionsPerSecond: perSecond, preemptedMs };
}

/**
 * Pods whose node does not exist, under a floor of their own, and pods that have finished. The pod garbage collector
 * takes a minute, so they have a namespace of their own, in which nothing else happens.
 */
async function podsOfMissingNode(context: CaseContext, { core, workers, webhooks, caPem }: Fleet): Promise<Figures> {
  const namespace = `${context.namespace}-lost`;
  const { admin } = core;
  await createNamespace(admin, namespace);
  const fleet = new Fleet([core], workers, namespace);
  fleet.webhooks = webhooks;
  await fleet.intercept(context, caPem);
  const drill = new SystemDrill(context, fleet);
  const labels = { app: "orphaned" };
  const startMs = performance.now();
  const orphaned = await createPods(admin, {
    namespace,
    count: 2,
    namePrefix: "orphaned",
    labels,
    nodeName: "missing",
  });
  await fleet.protect("orphaned", labels, 2, 2);
  const finished = await createPods(admin, { namespace, count: 3, namePrefix: "finished", labels, ready: false });
  for (const name of finished)
    await admin.mergePatch(`${podPath(namespace, name)}/status`, { status: { phase: "Failed" } });
  const collected = (prefix: string): number =>
    drill.requests(prefix).filter(({ user, code }) => user === podGarbageCollector && code === 200).length;
  // It writes the phase Failed first, and that is refused at the floor: the pods stay as they are.
  await waitFor("pods of a missing node are kept, and finished ones are collected", orphanLimitMs, async () => {
    const refused = await fleet.webhookCount("webhook_request_count", { status: "Rejected", cause: "EndPod" });
    return refused >= orphaned.length && collected("finished") === 2;
  });
  const refusedMs = Math.round(performance.now() - startMs);
  const kept = await listPods(admin, namespace, "app=orphaned");
  assert.equal(kept.filter((pod) => pod.status?.phase === "Running" && isServing(pod)).length, orphaned.length);
  assert.equal(collected("orphaned"), 0);
  // Those of a node that is really dead serve nobody.
  for (const name of orphaned) await setPodReady(admin, { namespace, name }, { ready: false });
  await waitFor("NotReady pods of a missing node are collected", orphanLimitMs, () => collected("orphaned") === 2);
  return { orphanRefusedMs: refusedMs, orphanedMs: Math.round(performance.now() - startMs) };
}

/** The namespace with a Deployment and a hand-made PodProtector, both at their floors. */
async function byNamespaceDeletion(drill: SystemDrill): Promise<Figures> {
  const { admin, namespace, fleet } = drill;
  const labels = { app: "handmade" };
  await createPods(admin, { namespace, count: 2, namePrefix: "handmade", labels });
  await fleet.protect("handmade", labels, 2, 2);
  const startMs = performance.now();
  await admin.remove(`/api/v1/namespaces/${namespace}`);
  await waitFor("the namespace is gone", 90 * second, async () => {
    return (await admin.request("GET", `/api/v1/namespaces/${namespace}`)).code === 404;
  });
  const namespaceMs = Math.round(performance.now() - startMs);
  const refusals = drill.requests().filter(({ user, code }) => user === namespaceController && code === 429);
  return { namespaceMs, namespaceRefusals: refusals.length };
}

/** The namespace in a worker, while the Deployment in the core, and so its PodProtector, stays. */
async function byNamespaceDeletionInWorker(context: CaseContext): Promise<Figures> {
  const fleet = await startFleet(context, { workers: ["system"], webhookReplicas: 1 });
  const drill = new SystemDrill(context, fleet);
  const { admin, namespace } = drill;
  await drill.playKubelet({});
  const available = await drill.atFloor("kept", { replicas: 3 });
  await fleet.waitIntercepted();
  const startMs = performance.now();
  await admin.remove(`/api/v1/namespaces/${namespace}`);
  const message = await waitFor("the namespace says why it waits", 30 * second, async () => {
    const { status } = await admin.get<NamespaceObject>(`/api/v1/namespaces/${namespace}`);
    return status.conditions?.find(({ type }) => type === "NamespaceDeletionContentFailure")?.message;
  });
  context.say(message);
  const refused = await drill.waitRefused("", namespaceController, 10);
  assert.equal(available.minimum, 3);
  const [pod] = await drill.pods("kept");
  const forced = podPath(namespace, pod?.metadata.name ?? "");
  await admin.mergePatch(forced, { metadata: { annotations: { [annotations.forceDelete]: "" } } });
  await waitFor("the forced pod is gone", 30 * second, async () => (await admin.request("GET", forced)).code === 404);
  assert.equal((await drill.pods("kept")).length, 2);
  const releasedMs = performance.now();
  await fleet.core.admin.remove(`/apis/apps/v1/namespaces/${namespace}/deployments/kept`);
  await waitFor("the namespace is gone", 90 * second, async () => {
    return (await admin.request("GET", `/api/v1/namespaces/${namespace}`)).code === 404;
  });
  for (const line of summary(drill.requests())) context.say(line);
  return {
    workerNamespacePausesMs: pauses(refused),
    workerNamespaceWaitedMs: Math.round(releasedMs - startMs),
    workerNamespaceGoneMs: Math.round(performance.now() - releasedMs),
  };
}

interface NamespaceObject {
  readonly status: { readonly conditions?: readonly { readonly type: string; readonly message: string }[] };
}

/** Milliseconds between requests, joined for a person. */
function pauses(requests: readonly DeletionRequest[], pod?: string): string {
  const times = requests.filter((one) => pod === undefined || one.pod === pod).map(({ atMs }) => atMs);
  return times
    .slice(1)
    .map((time, index) => time - (times[index] ?? 0))
    .join("/");
}

/** One line for each user and kind of request: how many got which answer. */
function summary(requests: readonly DeletionRequest[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { user, verb, code } of requests) {
    const line = `${user} ${verb} ${code}`;
    counts.set(line, (counts.get(line) ?? 0) + 1);
  }
  return [...counts].map(([line, count]) => `${line}: ${count}`).toSorted();
}
