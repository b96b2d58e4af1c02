/**
 * A hand-made PodProtector over two workloads: its floor follows the sum of their replicas, guards their pods together,
 * and stays when one of them is gone.
 */
import assert from "node:assert/strict";
import path from "node:path";
import { AvailableWatch } from "../../loads/available.ts";
import { deletePods } from "../../objects/deletions.ts";
import { type Fleet, startFleet } from "../../fleet/fleet.ts";
import { startKubelet } from "../../objects/kubelet.ts";
import { listPods } from "../../objects/pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { second, waitFor } from "../../clusters/wait.ts";
import { deploymentManifest, deploymentsPath } from "../../loads/workloads.ts";

const replicas = 6;
const protectorName = "shared";
/** 25 % of twelve may go. */
const floor = 9;

export const targetCases = e2eCases({
  "targets: the floor of a hand-made PodProtector follows the workloads that it names": [240 * second, run],
});

async function run(context: CaseContext): Promise<Figures> {
  // No workload has a PodProtector of its own.
  const sources = "--generator-sources=replicationcontrollers";
  const fleet = await startFleet(context, { workers: ["core"], generatorArgs: [sources] });
  const { core, namespace } = fleet;
  const { admin } = core;
  let kubelet = startKubelet({ admin, namespace, bindTo: "node-0" });
  context.cleanup(() => kubelet.stop());
  const deployments = deploymentsPath(fleet);
  await admin.create(deployments, deploymentManifest("one", replicas));
  await admin.create(deployments, deploymentManifest("two", replicas, { labels: { team: "shop" } }));
  const available = new AvailableWatch(context, fleet, "app=web");
  await available.begin(2 * replicas);
  await admin.create(path.posix.dirname(fleet.protectorPath(protectorName)), protector);
  await waitFloor(fleet, floor);
  await fleet.waitCounted(protectorName, 2 * replicas);
  await fleet.waitIntercepted();

  // A deletion is held for a moment, and replacements that become Ready meanwhile would make room for it.
  await kubelet.stop();
  kubelet = startKubelet({ admin, namespace, bindTo: "node-0", readyDelayMs: "never" });
  const names = (await listPods(admin, namespace, "app=web")).map(({ metadata }) => metadata.name);
  const attempts = await deletePods(admin, {
    namespace,
    names,
    concurrency: names.length,
    how: "delete",
    gracePeriodSeconds: 0,
  });
  const refused = attempts.filter(({ code }) => code === 429);
  assert.ok(refused.length > 0, "some are refused");
  assert.ok(available.minimum >= floor, `${available.minimum} served`);
  const lowest = available.minimum;
  await kubelet.stop();
  kubelet = startKubelet({ admin, namespace, bindTo: "node-0" });

  await waitFor("all serve again", 60 * second, () => available.serving === 2 * replicas);
  await admin.mergePatch(`${deployments}/one`, { spec: { replicas: 2 } });
  await waitFloor(fleet, 6);
  await admin.mergePatch(`${deployments}/one`, { spec: { replicas } });
  await waitFloor(fleet, floor);
  await waitCondition(fleet, "FloorResolved");

  // Of a workload that is gone nobody knows how many there should be.
  await admin.remove(`${deployments}/one`);
  await waitCondition(fleet, "FloorStale");
  assert.equal((await fleet.protector(protectorName)).spec.minAvailable, floor);
  await waitFor("an Event tells it", 60 * second, async () => {
    const { items } = await admin.get<{ items: { reason: string; involvedObject: { name: string } }[] }>(
      `/api/v1/namespaces/${namespace}/events`,
    );
    return items.some(
      (one) => one.reason === "CalculateExpectedPodCountFailed" && one.involvedObject.name === protectorName,
    );
  });
  await admin.mergePatch(fleet.protectorPath(protectorName), { spec: { targets: [selected] } });
  await waitFloor(fleet, 5);
  return { deleted: names.length, refused: refused.length, lowest };
}

const selected = { apiVersion: "apps/v1", kind: "Deployment", selector: { matchLabels: { team: "shop" } } };
const protector = {
  apiVersion: "podseidon.kubewharf.io/v1alpha1",
  kind: "PodProtector",
  metadata: { name: protectorName },
  spec: {
    minAvailable: 0,
    minReadySeconds: 0,
    selector: { matchLabels: { app: "web" } },
    maxUnavailable: "25%",
    targets: [{ apiVersion: "apps/v1", kind: "Deployment", name: "one" }, selected],
  },
};

async function waitFloor(fleet: Fleet, wanted: number): Promise<void> {
  await waitFor(`the floor is ${wanted}`, 60 * second, async () => {
    return (await fleet.protector(protectorName)).spec.minAvailable === wanted;
  });
}

async function waitCondition(fleet: Fleet, type: string): Promise<void> {
  await waitFor(`the condition ${type}`, 120 * second, async () => {
    const { status } = await fleet.protector(protectorName);
    return status?.conditions?.some((one) => one.type === type && one.status === "True") === true;
  });
}
