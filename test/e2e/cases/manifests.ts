/** The overlays of manifests/ on real API servers: applied, run with their accounts and arguments, and shown to protect. */
import assert from "node:assert/strict";
import { type Cluster } from "../cluster.ts";
import { deletePods, type DeletionAttempt } from "../deletions.ts";
import { installFleet, installSingleCluster, type ManifestInstallation } from "../manifest-installation.ts";
import { dryRunOverlay, systemNamespace } from "../overlay.ts";
import { createPods } from "../pods.ts";
import { ProtectionProof } from "../protection-proof.ts";
import { type CaseContext, type E2eCase, type Figures } from "../runner.ts";
import { waitFor } from "../wait.ts";
import { certificateRotationCases } from "./certificate-rotation.ts";
import { crdValidationCases } from "./crd-validation.ts";
import { packagingCases } from "./packaging.ts";

const second = 1_000;
const dummyPod = { namespace: "podseidon-update-trigger", name: "podseidon-update-trigger" };

export const manifestCases: readonly E2eCase[] = [
  {
    name: "manifests: the overlay single-cluster, run with its accounts and arguments, protects a Deployment",
    timeLimitMs: 150 * second,
    run: singleCluster,
  },
  {
    name: "manifests: the overlays core and worker, run with their accounts and arguments, protect a Deployment over two clusters",
    timeLimitMs: 150 * second,
    run: fleet,
  },
  ...certificateRotationCases,
  ...crdValidationCases,
  ...packagingCases,
];

async function singleCluster(context: CaseContext): Promise<Figures> {
  const core = await context.cluster("core");
  const dryRun = await dryRunOverlay(context, core, "single-cluster");
  const forbidden = await forbiddenAnswers([core]);
  const installation = await installSingleCluster(context, core);
  return { dryRun, ...(await prove(context, installation, forbidden)) };
}

async function fleet(context: CaseContext): Promise<Figures> {
  const [core, worker] = [await context.cluster("core"), await context.cluster("worker-1")];
  const dryRun = (await dryRunOverlay(context, core, "core")) + (await dryRunOverlay(context, worker, "worker"));
  const forbidden = await forbiddenAnswers([core, worker]);
  const installation = await installFleet(context, core, worker);
  return { dryRun, ...(await prove(context, installation, forbidden)) };
}

async function prove(
  context: CaseContext,
  installation: ManifestInstallation,
  forbiddenBefore: number,
): Promise<Figures> {
  const { core, worker } = installation;
  const ownPods = (await installation.ownPods()).flat().length;
  const proof = new ProtectionProof(context, { core, worker, namespace: context.namespace });
  const begun = await proof.begin();
  await waitInForce(context, installation);
  const figures = { ...begun, ...(await proof.deletions()), ...(await proof.eviction()), ...(await proof.fence()) };
  await proof.end();
  const excluded = await deletedWithoutWebhook(context, installation);
  await checkRights(installation, forbiddenBefore);
  await installation.remove(context);
  return { processes: installation.pods.length, ownPods, ...figures, excluded };
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

/** Cuts the webhook off: other pods cannot be deleted then, those of the cluster and of Podseidon can. Resolves to how many were. */
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
  const pods = [{ namespace: "kube-system", name: systemPod }, dummyPod, ...own];
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

/** The API servers, the processes' own metrics and their logs all say that no right was missing. */
async function checkRights(installation: ManifestInstallation, forbiddenBefore: number): Promise<void> {
  const { core, worker, pods } = installation;
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
  const after = await forbiddenAnswers(core === worker ? [core] : [core, worker]);
  assert.equal(after - forbiddenBefore, 0, "the API servers answered 403");
}

/** Answers with 403 since the API servers started. */
async function forbiddenAnswers(clusters: readonly Cluster[]): Promise<number> {
  const metrics = await Promise.all(clusters.map((cluster) => cluster.metrics()));
  return metrics.reduce((sum, text) => sum + (text.value("apiserver_request_total", { code: "403" }) ?? 0), 0);
}
