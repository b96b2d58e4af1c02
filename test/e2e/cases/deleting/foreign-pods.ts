/**
 * Pods of a Job with the labels of a Deployment do not stand in for its replicas (docs/accounting.md#foreign-pods): of
 * four pods with a floor of three, one goes. A PodProtector that is older than the rule shows them first.
 */
import assert from "node:assert/strict";
import { second, waitFor } from "../../clusters/wait.ts";
import { type Fleet, startFleet } from "../../fleet/fleet.ts";
import { AvailableWatch } from "../../loads/available.ts";
import { deploymentManifest, deploymentsPath, floorOf, protectorOf, waitFloor } from "../../loads/workloads.ts";
import { deletePods } from "../../objects/deletions.ts";
import { startKubelet } from "../../objects/kubelet.ts";
import { isServing, listPods, setPodReady } from "../../objects/pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";

const replicas = 4;
const strangers = 3;
const soonMs = 60 * second;
const protector = protectorOf("web");

export const foreignPodCases = e2eCases({
  "foreign: pods of a Job do not stand in for a Deployment's, and a person is shown them before they are left out": [
    240 * second,
    run,
  ],
});

async function run(context: CaseContext): Promise<Figures> {
  const fleet = await startFleet(context, { workers: ["core"] });
  const { core, namespace } = fleet;
  const { admin } = core;
  const kubelet = startKubelet({ admin, namespace, bindTo: "node-0" });
  context.cleanup(() => kubelet.stop());
  await admin.create(deploymentsPath(fleet), deploymentManifest("web", replicas));
  const available = new AvailableWatch(context, fleet, "app=web");
  await waitFor("the Deployment serves", soonMs, () => available.serving === replicas);
  const own = await listPods(admin, namespace, "app=web");
  await waitFloor(fleet, "web", floorOf(replicas), soonMs);
  await fleet.waitCounted(protector, replicas);
  await fleet.waitIntercepted();

  // As a release before has made it: all count.
  await kubelet.stop();
  const path = fleet.protectorPath(protector);
  await admin.mergePatch(path, { spec: { foreignOwners: null } });
  const ofJob = await createJobPods(fleet);
  await fleet.waitCounted(protector, replicas + strangers);
  await waitFor("a person is shown the pods", soonMs, async () => (await foreignReason(fleet)) === "Counted");

  // What `podseidon approve foreign-pods` writes.
  await admin.mergePatch(path, { spec: { foreignOwners: ["DaemonSet.apps", "Job.batch", "Node"] } });
  await fleet.waitCounted(protector, replicas);
  await waitFor("they are left out", soonMs, async () => (await foreignReason(fleet)) === "LeftOut");

  const deleteAll = (names: readonly string[]) =>
    deletePods(admin, { namespace, names, concurrency: names.length, how: "delete" });
  const attempts = await deleteAll(own.map(({ metadata }) => metadata.name));
  assert.equal(attempts.filter(({ code }) => code === 200).length, replicas - floorOf(replicas));
  const left = await listPods(admin, namespace, "app=web");
  const serving = left.filter((pod) => isServing(pod) && own.some(({ metadata }) => metadata.uid === pod.metadata.uid));
  assert.equal(serving.length, floorOf(replicas));

  const gone = await deleteAll(ofJob);
  assert.deepEqual(
    gone.map(({ code, message }) => (code === 200 ? code : message)),
    ofJob.map(() => 200),
  );
  return { left: serving.length, strangers: gone.length };
}

/** Ready, with the labels of the Deployment. The Job is suspended, or its controller would make pods of its own. */
async function createJobPods({ core: { admin }, namespace }: Fleet): Promise<readonly string[]> {
  const template = { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "none" }] } };
  const jobs = `/apis/batch/v1/namespaces/${namespace}/jobs`;
  const job = await admin.create<{ readonly metadata: { readonly uid: string } }>(jobs, {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "nightly" },
    spec: { suspend: true, parallelism: strangers, completions: strangers, template },
  });
  const owner = { apiVersion: "batch/v1", kind: "Job", name: "nightly", uid: job.metadata.uid, controller: true };
  const names = Array.from({ length: strangers }, (_, index) => `nightly-${index}`);
  for (const name of names) {
    await admin.create(`/api/v1/namespaces/${namespace}/pods`, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, labels: { app: "web", workload: "web" }, ownerReferences: [owner] },
      spec: { nodeName: "node-0", ...template.spec },
    });
    await setPodReady(admin, { namespace, name });
  }
  return names;
}

async function foreignReason(fleet: Fleet): Promise<string | undefined> {
  const { status } = await fleet.protector(protector);
  return status?.conditions?.find(({ type }) => type === "ForeignPods")?.reason;
}
