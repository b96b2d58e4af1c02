/** Roles in one process and alone, and what the loss of a Lease stops: that role's work and nothing else. */
import assert from "node:assert/strict";
import { type KubeObject } from "../../clusters/admin-client.ts";
import { deleteNow } from "../../objects/deletions.ts";
import { aggregatorLease, type Fleet, generatorLease } from "../../fleet/fleet.ts";
import { createPods, podPath } from "../../objects/pods.ts";
import { startPodseidon } from "../../fleet/process.ts";
import { startProtectedPods, webLabels } from "../../loads/protected-pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { createPausedDeployment, dummyPod, versionOf, waitTouched } from "../../fleet/signs-of-work.ts";
import { second, waitFor } from "../../clusters/wait.ts";

/** Until the process notices: one retry period of the elector (2 s) and a request. */
const lossLimitMs = 10 * second;
/** Until it leads again: the thief's lease, two retry periods and a request. */
const comebackLimitMs = 30 * second;
const thiefLeaseSeconds = 8;

export const oneProcessCases = e2eCases({
  "process: all four roles in one; a stolen Lease stops that role's work only, until it leads again": [
    150 * second,
    stolenLeases,
  ],
  "process: the update-trigger alone touches its pod and creates it again when it is lost": [
    60 * second,
    updateTriggerAlone,
  ],
});

async function stolenLeases(context: CaseContext): Promise<Figures> {
  const { fleet, available } = await startProtectedPods(context, {
    workers: ["core"],
    allInOne: true,
    podsPerCell: 4,
    floor: 1,
  });
  const { core, namespace } = fleet;
  const { admin } = core;
  const remove = async (name: string): Promise<void> => {
    const { code, message } = await deleteNow(admin, namespace, name);
    assert.equal(code, 200, message);
  };

  await remove("web-0");
  await fleet.waitCounted("web", 3);
  await createPausedDeployment(fleet, "first");
  await waitProtected(fleet, "first", 20 * second);
  await waitTouched(admin, 10 * second);

  // The generator's Lease: protectors are not created any more, everything else goes on.
  const generatorLossMs = performance.now();
  await steal(fleet, generatorLease);
  await waitLost(fleet, "generator");
  await createPausedDeployment(fleet, "second");
  await remove("web-1");
  await fleet.waitCounted("web", 2);
  await waitTouched(admin, 10 * second);
  assert.equal(await isProtected(fleet, "second"), false, "a candidate works for the leader");
  assert.equal(await holder(fleet, generatorLease), "thief", "the check came too late to mean anything");
  assert.equal((await fleet.generator?.readyz())?.code, 200);
  await waitProtected(fleet, "second", comebackLimitMs);
  const generatorBackMs = Math.round(performance.now() - generatorLossMs);

  // The aggregator's Lease, under which the update-trigger runs too: counts stand still, webhook and generator go on.
  const aggregatorLossMs = performance.now();
  await steal(fleet, aggregatorLease);
  await waitLost(fleet, "aggregator");
  const untouched = await versionOf(admin, dummyPod);
  await createPods(admin, { namespace, count: 1, namePrefix: "late", labels: webLabels });
  await waitFor("the new pod serves", 10 * second, () => available.serving === 3);
  await remove("web-2");
  await createPausedDeployment(fleet, "third");
  await waitProtected(fleet, "third", 20 * second);
  const { status } = await fleet.protector("web");
  assert.equal(status?.summary.aggregatedAvailableReplicas, 2, "a candidate counts for the leader");
  assert.equal(await versionOf(admin, dummyPod), untouched, "the update-trigger goes on without the Lease");
  assert.equal(await holder(fleet, aggregatorLease), "thief", "the check came too late to mean anything");
  await waitFor("the new pod and the deletion are counted", comebackLimitMs, async () => {
    const { status: now } = await fleet.protector("web");
    return now?.cells.every((cell) => (cell.admissionHistory?.buckets ?? []).length === 0);
  });
  await fleet.waitCounted("web", 2);
  await waitTouched(admin, 10 * second);
  const aggregatorBackMs = Math.round(performance.now() - aggregatorLossMs);
  assert.equal(await events(fleet, "generator", "acquired"), 2);
  assert.equal(await events(fleet, "aggregator", "acquired"), 2);
  return { generatorBackMs, aggregatorBackMs, left: available.serving };
}

async function isProtected(fleet: Fleet, deployment: string): Promise<boolean> {
  const { code } = await fleet.core.admin.request("GET", fleet.protectorPath(`deployment-${deployment}`));
  return code === 200;
}

function waitProtected(fleet: Fleet, deployment: string, limitMs: number): Promise<true> {
  return waitFor(`the Deployment ${deployment} is protected`, limitMs, async () => isProtected(fleet, deployment));
}

interface Lease extends KubeObject {
  readonly spec: { readonly holderIdentity?: string };
}

function leasePath({ namespace }: Fleet, name: string): string {
  return `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${name}`;
}

/** Another holder, as after a partition: it does not renew, so its time runs out. */
async function steal(fleet: Fleet, lease: string): Promise<void> {
  const now = new Date().toISOString().replace("Z", "000Z");
  await fleet.core.admin.mergePatch(leasePath(fleet, lease), {
    spec: { holderIdentity: "thief", leaseDurationSeconds: thiefLeaseSeconds, acquireTime: now, renewTime: now },
  });
}

async function holder(fleet: Fleet, lease: string): Promise<string | undefined> {
  return (await fleet.core.admin.get<Lease>(leasePath(fleet, lease))).spec.holderIdentity;
}

async function events(fleet: Fleet, elector: string, event: string): Promise<number> {
  const metrics = await fleet.generator?.metrics();
  return metrics?.value("leader_event", { elector_name: elector, event }) ?? 0;
}

async function waitLost(fleet: Fleet, elector: string): Promise<void> {
  await waitFor(`the ${elector} notices that its Lease is gone`, lossLimitMs, async () => {
    return (await events(fleet, elector, "lost")) === 1;
  });
}

async function updateTriggerAlone(context: CaseContext): Promise<Figures> {
  const cluster = await context.cluster("worker-2");
  const { admin } = cluster;
  const name = `trigger-${context.namespace}`;
  const path = podPath("default", name);
  const trigger = await startPodseidon({
    processes: context.processes,
    directory: context.directory,
    name: "update-trigger",
    role: "update-trigger",
    args: [
      `--worker-kube-config=${cluster.kubeconfigPath("admin")}`,
      `--update-trigger-dummy-pod-name=${name}`,
      "--update-trigger-update-frequency=200ms",
    ],
  });
  context.cleanup(async () => {
    await trigger.terminate();
    await admin.remove(path, { gracePeriodSeconds: 0 });
  });
  await waitFor("the dummy pod exists", 10 * second, async () => (await admin.request("GET", path)).code === 200);
  await waitTouched(admin, 5 * second, path);
  const { uid } = (await admin.get(path)).metadata;
  await admin.remove(path, { gracePeriodSeconds: 0 });
  await waitFor("the dummy pod is created again", 10 * second, async () => {
    return (await admin.get(path)).metadata.uid !== uid;
  });
  await waitTouched(admin, 5 * second, path);
  const metrics = await trigger.metrics();
  const touches = metrics.value("aggregator_update_trigger_spin", { event: "update", error: "nil" }) ?? 0;
  const exit = await trigger.terminate();
  assert.equal(exit.code, 0);
  return { touches };
}
