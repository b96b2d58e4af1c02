/** Two cores over one worker: each has its own budgets, and is lost by itself (docs/cores.md). */
import assert from "node:assert/strict";
import { AvailableWatch } from "../../loads/available.ts";
import { type Cluster } from "../../clusters/cluster.ts";
import { applyCrd } from "../../objects/crd.ts";
import { deleteNow, deletePods, type DeletionAttempt } from "../../objects/deletions.ts";
import { crdFile, type Fleet, startFleet } from "../../fleet/fleet.ts";
import { startKubelet } from "../../objects/kubelet.ts";
import { createNamespace, createPods } from "../../objects/pods.ts";
import { webLabels } from "../../loads/protected-pods.ts";
import { grantIn } from "../../clusters/role-accounts.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { Siege } from "../../loads/siege.ts";
import { present, second, waitFor } from "../../clusters/wait.ts";
import { deploymentManifest, deploymentsPath, floorOf, protectorOf } from "../../loads/workloads.ts";

const minute = 60 * second;
/** An admission on a former object may still commit for 75 s; the rest is for lists, barriers and Leases. */
const quotaLimitMs = 4 * minute;
/** More than an empty core makes in a minute: a new history does not look like the continuation of the former one. */
const oldVersions = 2_000;
const worker = "worker-1";
const otherCore = "rebuilt";
/** Pods that only a PodProtector of the first core guards. */
const soloLabels = { app: "solo" };
const solos = 4;
const soloFloor = 2;

export const coreCases = e2eCases({
  "cores: budgets of one name in two cores must agree, and a core that is away refuses only what it guards": [
    5 * minute,
    agreeingCores,
  ],
  "cores: one of two is wiped, then restored, in a mass deletion: its floor holds, the other one works on": [
    10 * minute,
    wipedAndRestored,
  ],
});

async function agreeingCores(context: CaseContext): Promise<Figures> {
  const count = 8;
  const floors = { first: 3, other: 5 };
  const { fleet, other, available } = await startCores(context, count, { generator: false });
  const { core, namespace } = fleet;
  await fleet.protect("web", webLabels, floors.first, count);
  await fleet.protect("web", webLabels, floors.other, count, { core: other });
  await protectSolos(fleet);
  await fleet.waitIntercepted();
  const admitted = (await deleteAll(fleet, "web", count)).filter(isAdmitted).length;
  assert.equal(admitted, count - floors.other);
  for (const one of [core, other]) await fleet.waitCounted("web", floors.other, minute, one);

  await other.killApiServer();
  const refused = await deleteAll(fleet, "web", count);
  const found = refused.filter(({ code }) => code !== 404);
  assert.equal(found.length, floors.other);
  for (const { code, message } of found) assert.equal(code, 429, message);
  // The first core has promised some of them by then: those may be what another refusal names.
  const named = found.find(({ message }) => message.includes(`${otherCore}/${namespace}/web`));
  assert.ok(named !== undefined, JSON.stringify(found));
  context.say(named.message);
  const solosAdmitted = (await deleteAll(fleet, "solo", solos)).filter(isAdmitted).length;
  assert.equal(solosAdmitted, solos - soloFloor);
  assert.equal(available.minimum, floors.other);

  await other.startApiServer();
  const startMs = performance.now();
  const { admin } = workerOf(fleet);
  await createPods(admin, { namespace, count: 1, namePrefix: "new", labels: webLabels });
  await waitFor("a deletion is admitted again", quotaLimitMs, async () => {
    return isAdmitted(await deleteNow(admin, namespace, "new-0"));
  });
  assert.equal(available.minimum, floors.other);
  return { admitted, solosAdmitted, quotaMs: Math.round(performance.now() - startMs) };
}

async function wipedAndRestored(context: CaseContext): Promise<Figures> {
  const count = 16;
  const floor = floorOf(count);
  const web = "web-0";
  const { fleet, other, available } = await startCores(context, count);
  const { namespace } = fleet;
  await other.etcd.age(oldVersions);
  const { spec, ...manifest } = deploymentManifest(web, count);
  await other.admin.create(deploymentsPath(fleet), {
    ...manifest,
    // A root object without pods of its own, as a federation keeps it.
    spec: { ...(spec as object), paused: true, selector: { matchLabels: webLabels }, template: rootTemplate },
  });
  await waitFor("the other core's generator protects its Deployment", minute, async () => {
    return (await fleet.protector(protectorOf(web), other)).spec.minAvailable === floor;
  });
  await fleet.waitCounted(protectorOf(web), count, minute, other);
  await protectSolos(fleet);
  await fleet.waitIntercepted();
  const copy = await other.backUp();

  await other.rebuild();
  const siege = new Siege(context, fleet);
  const lost = `${otherCore}/${namespace}/${protectorOf(web)}`;
  await waitFor("a refusal names what is lost", 2 * minute, () => siege.refusal(lost) !== undefined);
  context.say(siege.refusal(lost)?.message ?? "");
  assert.ok(isAdmitted(await deleteNow(workerOf(fleet).admin, namespace, "solo-0")), "the other budget goes on");
  const wipedMs = performance.now();
  await createNamespace(other.admin, namespace);
  await grantIn(other.admin, namespace);
  await applyCrd(other.admin, crdFile);
  await waitFor("what the floor allows is gone", quotaLimitMs, () => available.serving === floor);
  const quotaMs = Math.round(performance.now() - wipedMs);

  await other.restore(copy);
  const restoredMs = performance.now();
  await fleet.waitCounted(protectorOf(web), floor, quotaLimitMs, other);
  const { admin } = workerOf(fleet);
  assert.ok(isAdmitted(await deleteNow(admin, namespace, "solo-1")), "the other budget goes on");
  const before = siege.admitted;
  await createPods(admin, { namespace, count: 1, namePrefix: "new", labels: webLabels });
  await waitFor("a deletion is admitted again", quotaLimitMs, () => siege.admitted > before);
  const afterRestoreMs = Math.round(performance.now() - restoredMs);
  const answers = await siege.end();
  assert.equal(available.minimum, floor);
  await waitFor("nothing counts as lost any more", 2 * minute, async () => {
    return (await fleet.webhookCount("webhook_tombstones")) === 0;
  });
  return { left: available.minimum, quotaMs, afterRestoreMs, admitted: answers.deleted, refused: answers.refused };
}

const rootTemplate = {
  metadata: { labels: webLabels },
  spec: { containers: [{ name: "main", image: "none" }] },
};

interface Cores {
  readonly fleet: Fleet;
  readonly other: Cluster;
  readonly available: AvailableWatch;
}

/** Resolves when `count` pods of "web", and the solos, serve. */
async function startCores(
  context: CaseContext,
  count: number,
  options: { readonly generator?: boolean } = {},
): Promise<Cores> {
  const fleet = await startFleet(context, { workers: [worker], furtherCores: [otherCore], ...options });
  const other = present(fleet.cores[1]);
  const { admin } = workerOf(fleet);
  const { namespace } = fleet;
  await createPods(admin, { namespace, count, namePrefix: "web", labels: webLabels });
  await createPods(admin, { namespace, count: solos, namePrefix: "solo", labels: soloLabels });
  const kubelet = startKubelet({ admin, namespace, readyDelayMs: "never" });
  context.cleanup(() => kubelet.stop());
  const available = new AvailableWatch(context, fleet, "app=web");
  await available.begin(count);
  return { fleet, other, available };
}

async function protectSolos(fleet: Fleet): Promise<void> {
  await fleet.protect("solo", soloLabels, soloFloor, solos);
}

function workerOf({ workers }: Fleet): Cluster {
  const first = present(workers[0]);
  return first.cluster;
}

function deleteAll(fleet: Fleet, prefix: string, count: number): Promise<readonly DeletionAttempt[]> {
  const names = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
  const wave = { namespace: fleet.namespace, names, concurrency: count, how: "delete", gracePeriodSeconds: 0 } as const;
  return deletePods(workerOf(fleet).admin, wave);
}

function isAdmitted({ code }: DeletionAttempt): boolean {
  return code >= 200 && code <= 299;
}
