/**
 * No webhook can be reached. The cluster must stay operable, and a person must have a way out: docs/break-glass.md,
 * whose commands these are.
 */
import assert from "node:assert/strict";
import { type Manifest, onlyOne, render } from "../../../manifests/manifest-files.ts";
import { type AdminClient, type ObjectMeta } from "../../clusters/admin-client.ts";
import { type Cluster } from "../../clusters/cluster.ts";
import { deletePods, type DeletionOptions } from "../../objects/deletions.ts";
import { type Fleet, startFleet } from "../../fleet/fleet.ts";
import { startKubelet } from "../../objects/kubelet.ts";
import { createNode, removeNode } from "../../clusters/nodes.ts";
import { kubectlOrFail } from "../../overlay.ts";
import { createPods, listPods, type Pod, podPath } from "../../objects/pods.ts";
import { startProtectedPods } from "../../loads/protected-pods.ts";
import { systemNamespace } from "../../clusters/role-accounts.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { SystemDrill } from "../../installed/system-drill.ts";
import { present, second, waitFor } from "../../clusters/wait.ts";

/** API servers learn of a changed configuration through a watch, usually within a second. */
const inForceLimitMs = 30 * second;
/** What an API server answers when it cannot reach a webhook that must be asked. */
const unreachable = 500;

export const operableCases = e2eCases({
  "operable: no webhook runs: only live pods wait for it, and each of the documented ways out lets them go": [
    180 * second,
    brokenGlass,
  ],
  "operable: a full cluster whose nodes were drained and whose API server restarts brings its webhook back": [
    240 * second,
    bootstrap,
  ],
});

async function brokenGlass(context: CaseContext): Promise<Figures> {
  const { fleet } = await startProtectedPods(context, { podsPerCell: 6, floor: 2, webhookReplicas: 1 });
  const { namespace } = fleet;
  const [first, second] = fleet.workers.map(({ cell, cluster }) => ({ cell, cluster }));
  assert.ok(first !== undefined && second !== undefined);
  const configuration = (cell: string): string => `${namespace}-${cell}`;
  const remove = ({ cluster }: typeof first, name: string): ReturnType<typeof codeOf> =>
    codeOf(cluster.admin, namespace, name);
  const policy = (cell: typeof first, value: "Ignore" | "Fail"): Promise<string> => {
    const patch = [{ op: "replace", path: "/webhooks/0/failurePolicy", value }];
    const args = ["patch", "validatingwebhookconfiguration", configuration(cell.cell), "--type=json"];
    return kubectlOrFail(context, cell.cluster, ...args, "-p", JSON.stringify(patch));
  };
  /** Asks by dry run, so that no pod is spent on it. */
  const waitAnswer = async (cell: typeof first, name: string, code: number): Promise<number> => {
    const startMs = performance.now();
    await waitFor(`a deletion in ${cell.cell} is answered with ${code}`, inForceLimitMs, async () => {
      return (await codeOf(cell.cluster.admin, namespace, name, { dryRun: true })) === code;
    });
    return Math.round(performance.now() - startMs);
  };

  await createPodsThatWaitForNobody(first.cluster.admin, namespace);
  const webhook = present(fleet.webhooks[0]);
  await webhook.kill();
  for (const cell of [first, second]) assert.equal(await remove(cell, "web-0"), unreachable);
  for (const name of ["finished-0", "of-daemon-set", "terminating-0"])
    assert.equal(await codeOf(first.cluster.admin, namespace, name, { gracePeriodSeconds: 0 }), 200, name);

  // The soft way, in one cluster.
  await policy(first, "Ignore");
  const softMs = await waitAnswer(first, "web-0", 200);
  assert.equal(await remove(first, "web-0"), 200);
  assert.equal(await remove(second, "web-0"), unreachable, "the other cluster's deletions wait still");
  await policy(first, "Fail");
  const backMs = await waitAnswer(first, "web-1", unreachable);

  // The one command.
  await kubectlOrFail(context, second.cluster, "delete", "validatingwebhookconfiguration", configuration(second.cell));
  const deletedMs = await waitAnswer(second, "web-0", 200);
  assert.equal(await remove(second, "web-0"), 200);

  // With Ignore, a webhook that answers is obeyed.
  await policy(first, "Ignore");
  fleet.webhooks = [await webhook.startAgain()];
  await fleet.waitCounted("web", 10);
  await deleteUntilRefused(fleet, first.cluster, ["web-1", "web-2", "web-3", "web-4", "web-5"]);
  return { softMs, backMs, deletedMs };
}

/** A pod that has ended, one of a DaemonSet, and one that is terminating: their deletions are not sent at all. */
async function createPodsThatWaitForNobody(admin: AdminClient, namespace: string): Promise<void> {
  const labels = { app: "others" };
  await createPods(admin, { namespace, count: 1, namePrefix: "finished", labels, ready: false });
  await admin.mergePatch(`${podPath(namespace, "finished-0")}/status`, { status: { phase: "Failed" } });
  const daemonSet = await createDaemonSet(admin, namespace, labels);
  const owner = {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    name: daemonSet.name,
    uid: daemonSet.uid,
    controller: true,
  };
  await admin.create(`/api/v1/namespaces/${namespace}/pods`, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "of-daemon-set", labels, ownerReferences: [owner] },
    spec: { nodeName: "node-0", containers: [{ name: "main", image: "none" }] },
  });
  await createPods(admin, { namespace, count: 1, namePrefix: "terminating", labels });
  // Its finalizer keeps it there, as a node does that is away.
  await admin.mergePatch(podPath(namespace, "terminating-0"), { metadata: { finalizers: ["e2e.example.com/node"] } });
  await admin.remove(podPath(namespace, "terminating-0"));
  const { metadata } = await admin.get<Pod>(podPath(namespace, "terminating-0"));
  assert.ok(metadata.deletionTimestamp !== undefined);
}

/** Without its controller, so the one pod is made by hand. */
async function createDaemonSet(admin: AdminClient, namespace: string, labels: object): Promise<ObjectMeta> {
  const template = { metadata: { labels }, spec: { containers: [{ name: "main", image: "none" }] } };
  const { metadata } = await admin.create(`/apis/apps/v1/namespaces/${namespace}/daemonsets`, {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: "agents" },
    spec: { selector: { matchLabels: labels }, template },
  });
  return metadata;
}

/** The floor holds although the policy is Ignore: the last of these deletions are refused by the webhook. */
async function deleteUntilRefused(fleet: Fleet, { admin }: Cluster, names: readonly string[]): Promise<void> {
  const { spec } = await fleet.protector("web");
  await fleet.core.admin.mergePatch(fleet.protectorPath("web"), { spec: { ...spec, minAvailable: 8 } });
  await fleet.waitCounted("web", 10);
  const codes: (number | undefined)[] = [];
  for (const name of names) codes.push(await codeOf(admin, fleet.namespace, name));
  assert.deepEqual(codes, [200, 200, 429, 429, 429]);
}

/**
 * Guarded pods fill the only node that is left, the nodes of the webhook were drained, and its pods are Pending. They
 * have the priority class of the manifests, so they start by preemption, whose victims are guarded pods.
 */
async function bootstrap(context: CaseContext): Promise<Figures> {
  const fleet = await startFleet(context, { core: "system", workers: ["system"], allInOne: true });
  const { namespace, core: cluster } = fleet;
  const { admin } = cluster;
  const node = `${namespace}-full`;
  await createNode(admin, node, { cpu: "2", memory: "10Gi", pods: "10" });
  context.cleanup(() => removeNode(admin, node));
  const drill = new SystemDrill(context, fleet);
  await drill.playKubelet({});
  const kubelet = startKubelet({ admin, namespace: systemNamespace });
  context.cleanup(() => kubelet.stop());
  const nodeSelector = { "kubernetes.io/hostname": node };
  await drill.atFloor("web", {
    replicas: 2,
    podSpec: { nodeSelector },
    container: { resources: { requests: { cpu: "1" } } },
  });
  const somePod = async (): Promise<string> => {
    const pods = await drill.pods("web");
    const live = pods.find(({ spec, metadata }) => spec.nodeName !== undefined && !metadata.deletionTimestamp);
    return live?.metadata.name ?? assert.fail("no pod of web is left");
  };

  const process = present(fleet.webhooks[0]);
  await process.kill();
  assert.equal(await codeOf(admin, namespace, await somePod(), { how: "evict" }), unreachable, "people wait for it");
  await cluster.restartApiServer();
  const startMs = performance.now();
  await createWebhookDeployment(context, admin, nodeSelector);
  await waitFor("a pod of the webhook runs on the full node", 90 * second, async () => {
    const pods = await listPods(admin, systemNamespace, "app.kubernetes.io/component=webhook");
    return pods.some(({ spec, status }) => spec.nodeName === node && status?.phase === "Running");
  });
  const startedMs = Math.round(performance.now() - startMs);
  const refused = await codeOf(admin, namespace, await somePod());
  assert.equal(refused, unreachable, "no process has started yet behind the address");

  // Its container starts.
  const beginMs = performance.now();
  fleet.webhooks = [await process.startAgain()];
  const readyMs = Math.round(performance.now() - beginMs);
  await waitFor("deletions are decided again", 60 * second, async () => {
    const code = await codeOf(admin, namespace, await somePod(), { dryRun: true });
    return code === 429 || code === 200;
  });
  return { startedMs, readyMs, decidedMs: Math.round(performance.now() - beginMs) };
}

interface Deployment extends Manifest {
  readonly spec: { readonly template: { readonly spec: object } };
}

/** The Deployment of the manifests, one pod of it, for that node. Its pods are never started. */
async function createWebhookDeployment(context: CaseContext, admin: AdminClient, nodeSelector: object): Promise<void> {
  const objects = render("base/webhook/workload");
  const { apiVersion, kind, metadata, spec } = onlyOne<Deployment>(objects, "Deployment");
  const name = `${context.namespace}-webhook`;
  const path = `/apis/apps/v1/namespaces/${systemNamespace}/deployments`;
  await admin.create(path, {
    apiVersion,
    kind,
    metadata: { ...metadata, name },
    spec: {
      ...spec,
      replicas: 1,
      template: {
        ...spec.template,
        // The account of its own is not needed by a pod whose container does not run.
        spec: { ...spec.template.spec, nodeSelector, serviceAccountName: "default" },
      },
    },
  });
  context.cleanup(() => admin.remove(`${path}/${name}`));
}

/** The answer to one deletion, or eviction. */
async function codeOf(
  admin: AdminClient,
  namespace: string,
  name: string,
  how: Partial<Pick<DeletionOptions, "how" | "gracePeriodSeconds" | "dryRun">> = {},
): Promise<number | undefined> {
  const [attempt] = await deletePods(admin, { namespace, names: [name], concurrency: 1, how: "delete", ...how });
  return attempt?.code;
}
