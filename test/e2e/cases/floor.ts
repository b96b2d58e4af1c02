/** The floor over two clusters under a mass deletion: the promise of the product on real API servers. */
import assert from "node:assert/strict";
import { type AvailableWatch } from "../available.ts";
import { type DeletionAttempt, deletionFigures } from "../deletions.ts";
import { type Fleet } from "../fleet.ts";
import { deleteEverywhere, type ProtectedPodsOptions, startProtectedPods } from "../protected-pods.ts";
import { type CaseContext, type E2eCase, type Figures } from "../runner.ts";
import { waitFor } from "../wait.ts";

const second = 1_000;
const inFlightPerCell = 48;
const large = { podsPerCell: 300, floor: 500 } as const;

export const floorCases: readonly E2eCase[] = [
  {
    name: "floor: 2 x 300 pods, floor 500, 96 deletions in flight, two webhook replicas: exactly 500 are left",
    timeLimitMs: 180 * second,
    run: (context) => massDeletion(context, large),
  },
  {
    name: "floor: the same with the aggregators' connections 3 s late: exactly 500 are left",
    timeLimitMs: 180 * second,
    run: (context) => massDeletion(context, { ...large, laggingAggregators: true }),
  },
  {
    name: "floor: one of two webhook replicas is 300 ms away from the core: its writes conflict, and exactly 150 of 200 are left",
    timeLimitMs: 120 * second,
    run: lateReplica,
  },
  {
    name: "floor: kill -9 of a webhook, an aggregator and the generator in the middle: never under 500, and all quota is used",
    timeLimitMs: 240 * second,
    run: killed,
  },
];

/** The late replica may refuse the repeated review of a pod that the other one has admitted, so some quota is used only after it came back. */
async function lateReplica(context: CaseContext): Promise<Figures> {
  const figures = await massDeletion(context, { podsPerCell: 100, floor: 150, laggingWebhook: true });
  assert.ok(Number(figures["conflicts"]) > 0, "two replicas that write one object must conflict now and then");
  return figures;
}

async function massDeletion(context: CaseContext, options: ProtectedPodsOptions): Promise<Figures> {
  const { floor, podsPerCell } = options;
  const { fleet, available, names } = await startProtectedPods(context, { ...options, generator: false });
  for (const { proxy } of fleet.workers) proxy?.setDelay(3 * second);
  fleet.coreProxy?.setDelay(300);
  const writesBefore = await statusWrites(fleet);
  const attempts = await deleteEverywhere(fleet, names, inFlightPerCell);
  const writes = difference(await statusWrites(fleet), writesBefore);
  const figures = deletionFigures(attempts);
  for (const { proxy } of fleet.workers) proxy?.setDelay(0);
  fleet.coreProxy?.setDelay(0);
  // The watch of the test may be a moment behind the deletions.
  await waitFor(
    "the watch has seen every deletion",
    10 * second,
    () => available.serving === 2 * podsPerCell - figures.deleted,
  );
  assert.equal(
    figures.otherwise,
    0,
    `answers that are neither a deletion nor a refusal: ${JSON.stringify(attempts.find(({ code }) => code !== 200 && code !== 429))}`,
  );
  const comebackMs = await useAllQuota(fleet, available, { names, attempts, floor });
  if (options.laggingWebhook !== true) assert.equal(figures.deleted, 2 * podsPerCell - floor);
  assert.equal(available.serving, floor);
  assert.equal(available.minimum, floor);
  await fleet.waitCounted("web", floor);
  await fleet.waitSettled("web", 30 * second);
  // A second wave finds nothing to take.
  const again = deletionFigures(await deleteEverywhere(fleet, names.slice(0, 50), inFlightPerCell));
  assert.equal(again.deleted, 0);
  assert.equal(available.minimum, floor);
  assert.ok(writes.written > 0, "each admitted deletion stands in a status write");
  return {
    ...figures,
    left: available.serving,
    comebackMs,
    statusWrites: writes.written,
    writesPerDeletion: round(writes.written / figures.deleted),
    conflicts: writes.conflicts,
    conflictPercent: round((100 * writes.conflicts) / (writes.written + writes.conflicts)),
  };
}

async function killed(context: CaseContext): Promise<Figures> {
  const { podsPerCell, floor } = large;
  const { fleet, available, names } = await startProtectedPods(context, large);
  const [webhook] = fleet.webhooks;
  const [aggregator] = fleet.aggregators;
  assert.ok(webhook !== undefined && aggregator !== undefined && fleet.generator !== undefined);
  const deleting = deleteEverywhere(fleet, names, inFlightPerCell);
  await waitFor("thirty pods are gone", 30 * second, () => available.serving <= 2 * podsPerCell - 30);
  await Promise.all([webhook.kill(), aggregator.kill(), fleet.generator.kill()]);
  const atKill = available.serving;
  const first = await deleting;
  fleet.webhooks[0] = await webhook.startAgain();
  fleet.aggregators[0] = await aggregator.startAgain();
  fleet.generator = await fleet.generator.startAgain();

  // What the killed webhook had reserved and not answered comes back by fencing.
  const comebackMs = await useAllQuota(fleet, available, { names, attempts: first, floor });
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

/** A patient caller: deletes again whenever there is quota, until the floor is reached. Resolves to how long that took. */
async function useAllQuota(
  fleet: Fleet,
  available: AvailableWatch,
  so: { readonly names: readonly string[]; readonly attempts: readonly DeletionAttempt[]; readonly floor: number },
): Promise<number> {
  const startMs = performance.now();
  const attempts = [...so.attempts];
  await waitFor("all quota is used", 90 * second, async () => {
    if (available.serving === so.floor) return true;
    const { status } = await fleet.protector("web");
    if ((status?.summary.estimatedAvailableReplicas ?? 0) <= so.floor) return false;
    const gone = new Set(attempts.filter(({ code }) => code === 200).map(({ name }) => name));
    const left = so.names.filter((name) => !gone.has(name)).slice(0, 30);
    attempts.push(...(await deleteEverywhere(fleet, left, inFlightPerCell)));
    return false;
  });
  return Math.round(performance.now() - startMs);
}

async function statusWrites(fleet: Fleet): Promise<{ written: number; conflicts: number }> {
  return {
    written: await fleet.webhookCount("webhook_status_write_total", { result: "written" }),
    conflicts: await fleet.webhookCount("webhook_status_write_total", { result: "conflict" }),
  };
}

function difference(
  after: { written: number; conflicts: number },
  before: { written: number; conflicts: number },
): { written: number; conflicts: number } {
  return { written: after.written - before.written, conflicts: after.conflicts - before.conflicts };
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
