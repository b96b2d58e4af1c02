/** The floor over two clusters under a mass deletion: the promise of the product on real API servers. */
import assert from "node:assert/strict";
import { loadavg } from "node:os";
import { present, second, waitFor } from "../../clusters/wait.ts";
import { type Fleet } from "../../fleet/fleet.ts";
import { useAllQuota } from "../../loads/patient-caller.ts";
import {
  deleteBare,
  deleteEverywhere,
  type ProtectedPodsOptions,
  startProtectedPods,
  type WaveOptions,
} from "../../loads/protected-pods.ts";
import { type DeletionAttempt, deletionFigures } from "../../objects/deletions.ts";
import { listPods } from "../../objects/pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";

const inFlightPerCell = 48;
const large = { podsPerCell: 300, floor: 500 } as const;
const huge = { podsPerCell: 1_000, floor: 1_500 } as const;
const hugeInFlightPerCell = 128;
/** Pods of each cell in the wave that is measured without a webhook: as many as Podseidon admits. */
const barePodsPerCell = 50;

export const floorCases = e2eCases({
  "floor: 2 x 300 pods, floor 500, 96 deletions in flight, two webhook replicas: exactly 500 are left": [
    180 * second,
    (context) => massDeletion(context, { ...large, isMeasured: true }),
  ],
  "floor: 2 x 1000 pods, 256 in flight, aggregators 3 s late, a webhook restarted: exactly 1500 are left": [
    300 * second,
    replicaKilled,
  ],
  "floor: 2 x 300 pods without a grace period: exactly 500 are left": [
    180 * second,
    (context) => massDeletion(context, { ...large, isMeasured: true, gracePeriodSeconds: 0 }),
  ],
  "floor: one of two webhooks is 300 ms away from the core, so its writes conflict: exactly 150 are left": [
    120 * second,
    lateReplica,
  ],
  "floor: kill -9 of webhook, aggregator and generator in the middle: never under 500, all quota is used": [
    240 * second,
    killed,
  ],
});

async function lateReplica(context: CaseContext): Promise<Figures> {
  const figures = await massDeletion(context, { podsPerCell: 100, floor: 150, laggingWebhook: true });
  assert.ok(Number(figures["conflicts"]) > 0, "two replicas that write one object must conflict now and then");
  return figures;
}

interface MassDeletionOptions extends ProtectedPodsOptions {
  readonly gracePeriodSeconds?: 0;
  /** Measure the same in a namespace that nobody protects, too. */
  readonly isMeasured?: boolean;
}

async function massDeletion(context: CaseContext, options: MassDeletionOptions): Promise<Figures> {
  const { floor, podsPerCell, isMeasured = false, gracePeriodSeconds } = options;
  const how = { inFlightPerCell, ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }) };
  const { fleet, available, names } = await startProtectedPods(context, { ...options, generator: false });
  const bare = isMeasured ? await measureBare(context, fleet, how) : {};
  for (const { proxy } of fleet.workers) proxy?.setDelay(3 * second);
  fleet.coreProxy?.setDelay(300);
  const before = await counts(fleet);
  const attempts = await deleteEverywhere(fleet, { ...how, names });
  const after = await counts(fleet);
  const load = round(loadavg()[0] ?? 0);
  const figures = deletionFigures(attempts);
  for (const { proxy } of fleet.workers) proxy?.setDelay(0);
  fleet.coreProxy?.setDelay(0);
  // The watch of the test may be a moment behind the deletions.
  await waitFor(
    "the watch has seen every deletion",
    10 * second,
    () => available.serving === 2 * podsPerCell - figures.deleted,
  );
  const odd = attempts.find(({ code }) => code !== 200 && code !== 429);
  assert.equal(odd, undefined, "an answer that is neither a deletion nor a refusal");
  // A graceful deletion is reviewed once, so each reservation is used. See patient-caller.ts for the others.
  if (gracePeriodSeconds === undefined) assert.equal(figures.deleted, 2 * podsPerCell - floor);
  const comebackMs = await useAllQuota(fleet, available, { protector: "web", names, attempts, floor });
  assert.equal(available.serving, floor);
  assert.equal(available.minimum, floor);
  await fleet.waitCounted("web", floor);
  await fleet.waitSettled("web", 30 * second);
  await takesNothing(fleet, floor, { ...how, names: names.slice(-50) });
  assert.equal(available.minimum, floor);
  const written = after.written - before.written;
  const conflicts = after.conflicts - before.conflicts;
  assert.ok(written > 0, "each admitted deletion stands in a status write");
  return {
    ...figures,
    left: available.serving,
    comebackMs,
    admittedReviews: after.admitted - before.admitted,
    statusWrites: written,
    writesPerDeletion: round(written / figures.deleted),
    conflicts,
    conflictPercent: round((100 * conflicts) / (written + conflicts)),
    ...bare,
    load,
  };
}

/** What as many deletions as Podseidon will admit take in the same clusters without a review. */
async function measureBare(
  context: CaseContext,
  fleet: Fleet,
  how: { readonly inFlightPerCell: number; readonly gracePeriodSeconds?: number },
): Promise<Figures> {
  const clusters = fleet.workers.map(({ cluster }) => cluster);
  const attempts = await deleteBare(context, clusters, { ...how, podsPerCell: barePodsPerCell });
  const { p50Ms, p99Ms } = deletionFigures(attempts);
  return { bareP50Ms: p50Ms, bareP99Ms: p99Ms };
}

async function replicaKilled(context: CaseContext): Promise<Figures> {
  const { podsPerCell, floor } = huge;
  // The Lease is in the same cluster: behind answers that are 3 s late, on a busy machine, it is lost, and events are
  // what shall be late. One aggregator a cell needs none.
  const aggregatorArgs = ["--aggregator-leader-elector-enable=false"];
  const options = { ...huge, laggingAggregators: true, generator: false, aggregatorArgs };
  const { fleet, available, names } = await startProtectedPods(context, options);
  const webhook = present(fleet.webhooks[0]);
  for (const { proxy } of fleet.workers) proxy?.setDelay(3 * second);
  const startMs = performance.now();
  const deleting = deleteEverywhere(fleet, { names, inFlightPerCell: hugeInFlightPerCell });
  await waitFor("a hundred pods are gone", 60 * second, () => available.serving <= 2 * podsPerCell - 100);
  await webhook.kill();
  const deletedAtKill = 2 * podsPerCell - available.serving;
  fleet.webhooks[0] = await webhook.startAgain();
  const first = await deleting;
  const waveMs = Math.round(performance.now() - startMs);
  // The aggregators stay late: what the killed replica had reserved and not answered comes back anyway.
  const comebackMs = await useAllQuota(fleet, available, { protector: "web", names, attempts: first, floor });
  assert.equal(available.serving, floor);
  for (const { proxy } of fleet.workers) proxy?.setDelay(0);
  await fleet.waitCounted("web", floor);
  await fleet.waitSettled("web", 60 * second);
  await takesNothing(fleet, floor, { names: names.slice(-100), inFlightPerCell: hugeInFlightPerCell });
  assert.equal(available.serving, floor);
  assert.equal(available.minimum, floor);
  return {
    ...deletionFigures(first),
    deletedAtKill,
    left: available.serving,
    waveMs,
    comebackMs,
    load: round(loadavg()[0] ?? 0),
  };
}

async function killed(context: CaseContext): Promise<Figures> {
  const { podsPerCell, floor } = large;
  const { fleet, available, names } = await startProtectedPods(context, large);
  const webhook = present(fleet.webhooks[0]);
  const aggregator = present(fleet.aggregators[0]);
  assert.ok(fleet.generator !== undefined);
  const deleting = deleteEverywhere(fleet, { names, inFlightPerCell });
  await waitFor("thirty pods are gone", 30 * second, () => available.serving <= 2 * podsPerCell - 30);
  await Promise.all([webhook.kill(), aggregator.kill(), fleet.generator.kill()]);
  const atKill = available.serving;
  const first = await deleting;
  // Together, as whatever runs them would: a webhook alone waits 90 s to know which cells are silent.
  [fleet.webhooks[0], fleet.aggregators[0], fleet.generator] = await Promise.all([
    webhook.startAgain(),
    aggregator.startAgain(),
    fleet.generator.startAgain(),
  ]);

  // What the killed webhook had reserved and not answered comes back by fencing.
  const comebackMs = await useAllQuota(fleet, available, { protector: "web", names, attempts: first, floor });
  await fleet.waitSettled("web", 60 * second);
  assert.equal(available.serving, floor);
  assert.equal(available.minimum, floor);
  const { deleted, refused, otherwise } = deletionFigures(first);
  return {
    deletedAtKill: 2 * podsPerCell - atKill,
    deletedFirst: deleted,
    refusedFirst: refused,
    unanswered: otherwise,
    left: available.serving,
    comebackMs,
  };
}

/** At the floor a further wave finds nothing to take. */
async function takesNothing(fleet: Fleet, floor: number, wave: WaveOptions): Promise<void> {
  // A pod that is terminating may be deleted again: that takes nothing, and is not reviewed.
  await waitFor("the kubelets have ended what was deleted", 60 * second, async () => {
    const lists = await Promise.all(
      fleet.workers.map(({ cluster }) => listPods(cluster.admin, fleet.namespace, "app=web")),
    );
    return lists.flat().length === floor;
  });
  const { deleted } = deletionFigures(await deleteEverywhere(fleet, wave));
  assert.equal(deleted, 0);
}

async function counts(fleet: Fleet): Promise<{ written: number; conflicts: number; admitted: number }> {
  return {
    written: await fleet.webhookCount("webhook_status_write_total", { result: "written" }),
    conflicts: await fleet.webhookCount("webhook_status_write_total", { result: "conflict" }),
    admitted: await fleet.webhookCount("webhook_request_count", { status: "AdmittedAll" }),
  };
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}

const replicas = 2;
const podsPerCell = 10;
const floor = 12;
/** 20 pods over a floor of 12. */
const quota = 2 * podsPerCell - floor;
/** Above the 3 s of failed writes after which a replica admits on the last known quota. */
const admitLimitMs = 30 * second;

export const lastKnownCases = e2eCases({
  "last-known: without the core's API server deletions pass within the last quota and are recorded later": [
    180 * second,
    coreGone,
  ],
});

async function coreGone(context: CaseContext): Promise<Figures> {
  const { fleet, available, names } = await startProtectedPods(context, {
    podsPerCell,
    floor,
    webhookReplicas: replicas,
    generator: false,
    webhookArgs: ["--webhook-core-unavailable-policy=last-known", `--webhook-core-unavailable-replicas=${replicas}`],
  });
  const { core } = fleet;
  const wave = (): Promise<readonly DeletionAttempt[]> =>
    deleteEverywhere(fleet, { names, inFlightPerCell: podsPerCell });

  await fleet.waitWriteSeen("web");
  await core.killApiServer();
  const attempts: DeletionAttempt[] = [];
  const goneMs = performance.now();
  const admittedMs = await waitFor("the last known quota is used up", admitLimitMs, async () => {
    attempts.push(...(await wave()));
    // Each replica admits its share; which of them a connection leads to is chance.
    return available.serving === floor && Math.round(performance.now() - goneMs);
  });
  const beyond = await wave();
  // A pod that the kubelet has not ended yet may be deleted once more; what counts is that no other one goes.
  const refusal = present(beyond.find(({ code }) => code === 429));
  context.say(refusal.message);
  assert.equal(available.minimum, floor, "admitted beyond the last known quota");
  const admitted = await fleet.webhookCount("webhook_last_known_admission_total");
  assert.equal(admitted, quota);

  await core.startApiServer();
  const backMs = performance.now();
  await fleet.waitCounted("web", floor);
  await fleet.waitSettled("web", 60 * second);
  const settledMs = Math.round(performance.now() - backMs);
  const { status } = await fleet.protector("web");
  assert.equal(status?.summary.estimatedAvailableReplicas, floor);
  assert.equal(deletionFigures(await wave()).deleted, 0);
  assert.equal(available.serving, floor);
  assert.equal(available.minimum, floor);
  return { deleted: deletionFigures(attempts).deleted, admitted, admittedMs, settledMs, left: available.serving };
}
