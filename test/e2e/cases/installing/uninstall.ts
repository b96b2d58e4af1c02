/**
 * `podseidon uninstall` on a real API server, after the overlay for a single cluster has run for a moment: nothing is
 * left, and nothing else has changed.
 */
import assert from "node:assert/strict";
import { finalizer } from "../../../../src/api/v1alpha1/names.ts";
import { type KubeObject, type ObjectList } from "../../clusters/admin-client.ts";
import { type Cluster } from "../../clusters/cluster.ts";
import { kubectl } from "../../clusters/kubectl.ts";
import { installSingleCluster, type ManifestInstallation } from "../../installed/manifest-installation.ts";
import { storedDeployments } from "../../installed/manifest-pods.ts";
import { difference, type Snapshot, takeSnapshot } from "../../objects/object-snapshot.ts";
import { OnCall } from "../../installed/on-call.ts";
import { createNamespace, listPods } from "../../objects/pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { second, waitFor } from "../../clusters/wait.ts";
import { deploymentManifest } from "../../loads/workloads.ts";

const workloads = ["web", "api", "search"] as const;
/** `kubectl delete -k` waits for ever; it has asked for everything after a second or two. */
const deletionMs = 15 * second;
const definitionPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/podprotectors.podseidon.kubewharf.io";

export const uninstallCases = e2eCases({
  "uninstall: nothing is left and nothing else has changed, also after kubectl delete -k was tried first": [
    240 * second,
    run,
  ],
});

interface Stage {
  readonly context: CaseContext;
  readonly cluster: Cluster;
  readonly administrator: OnCall;
  readonly before: Snapshot;
}

async function run(context: CaseContext): Promise<Figures> {
  const cluster = await context.cluster("uninstalled");
  const administrator = OnCall.administrator(context, cluster);
  // The accounts and policies that each cluster of these tests has from the beginning.
  await uninstall(administrator, "single");
  const before = await blank(context, cluster);
  const stage: Stage = { context, cluster, administrator, before };
  const wholeMs = await whole(stage);
  const afterDeletionMs = await afterDeletion(stage);
  return { objects: before.size, wholeMs, afterDeletionMs };
}

/** A cluster with workloads, and without Podseidon. */
async function blank({ namespace }: CaseContext, { admin }: Cluster): Promise<Snapshot> {
  await createNamespace(admin, namespace);
  for (const name of workloads)
    await admin.create(`/apis/apps/v1/namespaces/${namespace}/deployments`, deploymentManifest(name, 2));
  await waitFor("the workloads have their pods", 30 * second, async () => {
    return (await listPods(admin, namespace)).length === 2 * workloads.length;
  });
  const before = await takeSnapshot(admin);
  assert.deepEqual(
    [...before.keys()].filter((key) => key.includes("podseidon")),
    [],
  );
  return before;
}

/** Resolves to the milliseconds that the command took. */
async function whole(stage: Stage): Promise<number> {
  const { context, cluster, administrator, before } = stage;
  const installation = await install(context, cluster);
  const plan = await administrator.run("uninstall", "single", "--dry-run");
  assert.equal(plan.exitCode, 0, plan.stderr);
  context.say(plan.stdout);
  const startMs = performance.now();
  const [stdout] = await Promise.all([uninstall(administrator, "single"), endWithDeployments(installation)]);
  const durationMs = Math.round(performance.now() - startMs);
  context.say(stdout);
  await assertSame(cluster, before);
  return durationMs;
}

async function afterDeletion({ context, cluster, administrator, before }: Stage): Promise<number> {
  const { admin } = cluster;
  const again = { ...context, directory: `${context.directory}/again` };
  // The finalizers are all that is in the way of this deletion.
  const installation = await install(again, cluster, ["generator"]);
  const options = { kubectl: context.assets.kubectl, processes: context.processes, cluster, timeoutMs: deletionMs };
  const [tried] = await Promise.all([
    kubectl(options, "delete", "-k", installation.folder),
    endWithDeployments(installation),
  ]);
  assert.equal(tried.code, -1, `it waits for the CRD: ${tried.stdout}${tried.stderr}`);
  const { metadata } = await admin.get(definitionPath);
  assert(metadata.deletionTimestamp !== undefined);
  assert.equal((await guarded(context, cluster)).length, workloads.length);
  const startMs = performance.now();
  context.say(await uninstall(administrator, "single"));
  const durationMs = Math.round(performance.now() - startMs);
  await assertSame(cluster, before);
  return durationMs;
}

/** The API server takes a moment to forget the API of a CRD. */
async function assertSame({ admin }: Cluster, before: Snapshot): Promise<void> {
  let found: readonly string[] = [];
  await waitFor("nothing is left, and nothing else has changed", 20 * second, async () => {
    found = difference(before, await takeSnapshot(admin));
    return found.length === 0;
  }).catch((error: unknown) => {
    assert.deepEqual(found, [], String(error));
    throw error;
  });
}

/** Resolves when the generator has put its finalizer on every workload. */
async function install(
  context: CaseContext,
  cluster: Cluster,
  components?: readonly string[],
): Promise<ManifestInstallation & { readonly folder: string }> {
  const installation = await installSingleCluster(context, cluster, components);
  await waitFor("the workloads are guarded", 60 * second, async () => {
    return (await guarded(context, cluster)).length === workloads.length;
  });
  return installation;
}

async function guarded({ namespace }: CaseContext, { admin }: Cluster): Promise<readonly string[]> {
  type Deployment = KubeObject & { readonly metadata: { readonly finalizers?: readonly string[] } };
  const list = await admin.get<ObjectList<Deployment>>(`/apis/apps/v1/namespaces/${namespace}/deployments`);
  return list.items
    .filter(({ metadata }) => metadata.finalizers?.includes(finalizer))
    .map(({ metadata }) => metadata.name);
}

/** As kubelets do: pods end when their Deployments are gone. */
async function endWithDeployments({ core, pods }: ManifestInstallation): Promise<void> {
  await waitFor("the Deployments are gone", 60 * second, async () => (await storedDeployments(core)).length === 0);
  await Promise.all(pods.map((pod) => pod.stop()));
}

async function uninstall(administrator: OnCall, part: string): Promise<string> {
  const { exitCode, stdout, stderr } = await administrator.run("uninstall", part, "--yes");
  assert.equal(exitCode, 0, stdout + stderr);
  return stdout;
}
