/**
 * The overlays of manifests/ on real API servers: applied, run with their accounts and arguments, and shown to protect.
 */
import assert from "node:assert/strict";
import path from "node:path";
import { render } from "../../../manifests/manifest-files.ts";
import { sha256 } from "../../../packaging/sha256.ts";
import { AccountRequests } from "../../rights/account-requests.ts";
import { type ObjectList } from "../../clusters/admin-client.ts";
import { type Cluster } from "../../clusters/cluster.ts";
import { deletePods, type DeletionAttempt } from "../../objects/deletions.ts";
import {
  installFleet,
  installSingleCluster,
  type ManifestInstallation,
} from "../../installed/manifest-installation.ts";
import { componentOf, storedDeployments } from "../../installed/manifest-pods.ts";
import { dryRun } from "../../overlay.ts";
import { systemNamespace } from "../../clusters/role-accounts.ts";
import { createNamespace, createPods } from "../../objects/pods.ts";
import { program } from "../../fleet/process.ts";
import { ProtectionProof } from "../../installed/protection-proof.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { second, waitFor } from "../../clusters/wait.ts";
import { certificateRotationCases } from "./certificate-rotation.ts";
import { crdValidationCases } from "./crd-validation.ts";
import { engineCases, foreignImageCases } from "./engine.ts";
import { localClusterCases } from "./local-clusters.ts";
import { packagingCases } from "./packaging.ts";

const watchList = "it lists where the API server cannot send the first state as part of a watch";
/** Rights that a run may not need, and when they are needed. */
const rarelyUsed: ReadonlyMap<string, string> = new Map([
  ["podseidon-webhook: patch leases.coordination.k8s.io", "somebody was heard at each look"],
  ["podseidon-generator: list deployments.apps", watchList],
  ["podseidon-generator: list podprotectors.podseidon.kubewharf.io", watchList],
  ["podseidon-aggregator: list podprotectors.podseidon.kubewharf.io", watchList],
  ["podseidon-aggregator-worker-1: list podprotectors.podseidon.kubewharf.io", watchList],
  ["podseidon-webhook: list podprotectors.podseidon.kubewharf.io", watchList],
  ["podseidon-aggregator: get podprotectors.podseidon.kubewharf.io", "it reads a status again after a conflict"],
  [
    "podseidon-aggregator-worker-1: get podprotectors.podseidon.kubewharf.io",
    "it reads a status again after a conflict",
  ],
  ["podseidon-webhook: list deployments.apps", "it looks for deletions that wait while no generator leads"],
  ["podseidon-webhook: get podprotectors.podseidon.kubewharf.io", "it reads a status again after a conflict"],
  ["podseidon-aggregator: create events", "it tells that another cluster holds its cell"],
  ["podseidon-aggregator-worker-1: create events", "it tells that another cluster holds its cell"],
  ["podseidon-aggregator: patch events", "it counts an Event that comes again"],
  ["podseidon-aggregator-worker-1: patch events", "it counts an Event that comes again"],
  ["podseidon-generator: patch events", "it counts an Event that comes again"],
  ["podseidon-generator: delete leases.coordination.k8s.io", "it retires a cell"],
  ["podseidon-generator: get namespaces", "it judges a deletion, or a floor that falls far"],
  ["podseidon-generator: patch configmaps", "it lists a release when the list is there already"],
  ["podseidon-webhook: get configmaps", "it reads the list of releases when a PodProtector is gone"],
  ["podseidon-webhook: get deployments.apps", "it tells that a certificate is about to expire"],
  ["podseidon-generator: list namespaces", watchList],
  ["podseidon-webhook: list namespaces", watchList],
  ["podseidon-webhook: patch events", "it counts an Event that comes again"],
]);

/** An overlay with what its accounts have asked for since the case began. */
interface UsedOverlay {
  readonly overlay: string;
  readonly requests: AccountRequests;
}

export const manifestCases = [
  ...e2eCases({
    "manifests: the overlay single-cluster, run with its accounts and arguments, protects a Deployment": [
      150 * second,
      singleCluster,
    ],
    "manifests: the overlays core and worker, run with their accounts, protect a Deployment over two clusters": [
      150 * second,
      fleet,
    ],
  }),
  ...certificateRotationCases,
  ...crdValidationCases,
  ...packagingCases,
  ...engineCases,
  ...foreignImageCases,
  ...localClusterCases,
];

async function singleCluster(context: CaseContext): Promise<Figures> {
  const core = await context.cluster("core");
  const used = [{ overlay: "single-cluster", requests: new AccountRequests(core) }];
  const accepted = await dryRun(context, core, "overlays/single-cluster");
  await dryRun(context, core, "network-policies");
  const installation = await installSingleCluster(context, core);
  return { dryRun: accepted, ...(await prove(context, installation, used)) };
}

async function fleet(context: CaseContext): Promise<Figures> {
  const [core, worker] = [await context.cluster("core"), await context.cluster("worker-1")];
  const used = [
    { overlay: "core", requests: new AccountRequests(core) },
    { overlay: "worker", requests: new AccountRequests(worker) },
  ];
  const accepted = (await dryRun(context, core, "overlays/core")) + (await dryRun(context, worker, "overlays/worker"));
  const installation = await installFleet(context, core, worker);
  return { dryRun: accepted, ...(await prove(context, installation, used)) };
}

async function prove(
  context: CaseContext,
  installation: ManifestInstallation,
  overlays: readonly UsedOverlay[],
): Promise<Figures> {
  const { core, worker } = installation;
  const ownPods = (await installation.ownPods()).flat().length;
  for (const { admin } of new Set([core, worker])) await createNamespace(admin, context.namespace);
  const proof = new ProtectionProof(context, { core, worker, namespace: context.namespace });
  const begun = await proof.begin();
  await waitInForce(context, installation);
  const figures = { ...begun, ...(await proof.deletions()), ...(await proof.eviction()), ...(await proof.fence()) };
  await proof.end();
  await proof.lostSource();
  const excluded = await deletedWithoutWebhook(context, installation);
  await checkOwnDeployments(installation);
  const rights = await checkRights(context, installation, overlays);
  const executable = executableSum(context);
  await installation.remove(context);
  return { processes: installation.pods.length, executable, ownPods, ...figures, excluded, ...rights };
}

/** Of the file that all these processes run; the packaging case prints the same for dist/podseidon. */
function executableSum(context: CaseContext): string {
  const { command, args } = program();
  if (args.length > 0) return "sources";
  const sum = sha256(command);
  context.say(`sha256 of ${path.basename(command)}, which all these processes run: ${sum}`);
  return sum.slice(0, 12);
}

/** Resolves when the API server sends the namespace's deletions to the webhook. */
async function waitInForce({ namespace }: CaseContext, { worker, webhooks }: ManifestInstallation): Promise<void> {
  await waitFor("the worker calls the webhook", 30 * second, async () => {
    await worker.admin.request("DELETE", `/api/v1/namespaces/${namespace}/pods`, { query: { dryRun: "All" } });
    const counts = await Promise.all(
      webhooks.map(async (pod) => (await pod.metrics()).value("webhook_request_count") ?? 0),
    );
    return counts.some((count) => count > 0);
  });
}

/**
 * Cuts the webhook off: other pods cannot be deleted then, those of the cluster and of Podseidon can. Resolves to how
 * many were.
 */
async function deletedWithoutWebhook(context: CaseContext, installation: ManifestInstallation): Promise<number> {
  const { worker, balancer } = installation;
  const { admin } = worker;
  const plain = { count: 1, labels: { app: "excluded" }, ready: false };
  const [systemPod = ""] = await createPods(admin, { ...plain, namespace: "kube-system", namePrefix: "excluded" });
  const [otherPod = ""] = await createPods(admin, { ...plain, namespace: context.namespace, namePrefix: "other" });
  const ownPods = (await installation.ownPods()).at(-1) ?? [];
  balancer.cut();
  const other = await deleteNow(worker, context.namespace, otherPod);
  assert.equal(other.code, 500, `without a webhook the deletion is refused: ${other.message}`);
  const own = ownPods.map(({ metadata }) => ({ namespace: systemNamespace, name: metadata.name }));
  const pods = [{ namespace: "kube-system", name: systemPod }, ...own];
  for (const { namespace, name } of pods) {
    const { code, message } = await deleteNow(worker, namespace, name);
    assert.equal(code, 200, `${namespace}/${name}: ${message}`);
  }
  balancer.heal();
  await waitFor("the webhook is back", 30 * second, async () => {
    return (await deleteNow(worker, context.namespace, otherPod)).code === 200;
  });
  return pods.length;
}

async function deleteNow({ admin }: Cluster, namespace: string, name: string): Promise<DeletionAttempt> {
  const how = { namespace, names: [name], concurrency: 1, how: "delete", gracePeriodSeconds: 0 } as const;
  const [attempt] = await deletePods(admin, how);
  assert.ok(attempt !== undefined);
  return attempt;
}

/** The generator leaves Podseidon's own Deployments alone: it could not let go of itself when it is removed. */
async function checkOwnDeployments({ core }: ManifestInstallation): Promise<void> {
  const deployments = await storedDeployments(core);
  assert.ok(deployments.some((deployment) => componentOf(deployment) === "generator"));
  for (const { metadata } of deployments) assert.deepEqual(metadata.finalizers ?? [], [], metadata.name);
  const resource = `/apis/podseidon.kubewharf.io/v1alpha1/namespaces/${systemNamespace}/podprotectors`;
  assert.deepEqual((await core.admin.get<ObjectList<unknown>>(resource)).items, []);
}

/**
 * The API servers, the processes' own metrics and their logs all say that no right was missing, and the audit logs that
 * none was too much.
 */
async function checkRights(
  context: CaseContext,
  { pods }: ManifestInstallation,
  overlays: readonly UsedOverlay[],
): Promise<Figures> {
  let fences = 0;
  for (const pod of pods) {
    const { name } = pod.process;
    const metrics = await pod.metrics();
    assert.ok((metrics.value("kube_client_requests_total") ?? 0) > 0, `${name} counts its requests`);
    assert.equal(metrics.value("kube_client_requests_total", { code: "403" }) ?? 0, 0, name);
    assert.equal(metrics.value("aggregator_fence_total", { result: "forbidden" }) ?? 0, 0, name);
    fences += metrics.value("aggregator_fence_total", { result: "sent" }) ?? 0;
    assert.doesNotMatch(pod.process.log(), /forbidden|\b403\b/i, name);
  }
  assert.ok(fences >= 1, "the aggregator fenced a pod");
  const figures = { rightsUsed: 0, rightsUnused: 0 };
  for (const { overlay, requests } of overlays) {
    assert.deepEqual(requests.forbidden(), [], overlay);
    const { used, unused } = requests.rights(render(`overlays/${overlay}`));
    const unexplained = unused.filter((right) => !rarelyUsed.has(right));
    assert.deepEqual(unexplained, [], `${overlay}: rights that nothing needed`);
    for (const right of unused) context.say(`${overlay}: ${right} was not needed this time: ${rarelyUsed.get(right)}`);
    figures.rightsUsed += used.length;
    figures.rightsUnused += unused.length;
  }
  return figures;
}
