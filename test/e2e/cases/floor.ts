/** The floor over two clusters under a mass deletion: the promise of the product on real API servers. */
import assert from "node:assert/strict";
import { AvailableWatch } from "../available.ts";
import { deletePods, type DeletionAttempt, deletionFigures } from "../deletions.ts";
import { type Fleet, startFleet, type FleetOptions } from "../fleet.ts";
import { startKubelet } from "../kubelet.ts";
import { createPods } from "../pods.ts";
import { type CaseContext, type E2eCase, type Figures } from "../runner.ts";
import { waitFor } from "../wait.ts";

const second = 1_000;
const labels = { app: "web" };
const podsPerCell = 300;
const floor = 500;
const inFlightPerCell = 48;

export const floorCases: readonly E2eCase[] = [
  {
    name: "floor: 2 x 300 pods, floor 500, 96 deletions in flight, two webhook replicas: exactly 500 are left",
    timeLimitMs: 180 * second,
    run: (context) => massDeletion(context, {}),
  },
  {
    name: "floor: the same with the aggregators' connections 3 s late: exactly 500 are left",
    timeLimitMs: 180 * second,
    run: (context) => massDeletion(context, { laggingAggregators: true }),
  },
  {
    name: "floor: kill -9 of a webhook, an aggregator and the generator in the middle: never under 500, and all quota is used",
    timeLimitMs: 240 * second,
    run: killed,
  },
];

async function prepare(
  context: CaseContext,
  options: FleetOptions,
): Promise<{ fleet: Fleet; available: AvailableWatch; names: readonly string[] }> {
  const fleet = await startFleet(context, options);
  let names: readonly string[] = [];
  for (const { cluster } of fleet.workers) {
    names = await createPods(cluster.admin, {
      namespace: fleet.namespace,
      count: podsPerCell,
      namePrefix: "web",
      labels,
    });
    const kubelet = startKubelet({ admin: cluster.admin, namespace: fleet.namespace, readyDelayMs: "never" });
    context.cleanup(() => kubelet.stop());
  }
  const available = new AvailableWatch(context, fleet, "app=web");
  await available.begin(2 * podsPerCell);
  await fleet.protect("web", labels, floor, 2 * podsPerCell);
  await interceptedEverywhere(fleet);
  return { fleet, available, names };
}

/** Resolves when a dry-run deletion in each worker has passed through the webhook. */
async function interceptedEverywhere(fleet: Fleet): Promise<void> {
  for (const { cell, cluster } of fleet.workers) {
    await waitFor(`${cell} calls the webhook`, 30 * second, async () => {
      await deletePods(cluster.admin, {
        namespace: fleet.namespace,
        names: ["web-0"],
        concurrency: 1,
        how: "delete",
        dryRun: true,
      });
      return (await fleet.webhookCount("webhook_request_count", { cell })) > 0;
    });
  }
}

function deleteEverywhere(fleet: Fleet, names: readonly string[]): Promise<readonly DeletionAttempt[]> {
  return Promise.all(
    fleet.workers.map(({ cluster }) =>
      deletePods(cluster.admin, {
        namespace: fleet.namespace,
        names,
        concurrency: inFlightPerCell,
        how: "delete",
        gracePeriodSeconds: 0,
      }),
    ),
  ).then((attempts) => attempts.flat());
}

async function massDeletion(context: CaseContext, options: FleetOptions): Promise<Figures> {
  const { fleet, available, names } = await prepare(context, { ...options, generator: false });
  for (const { proxy } of fleet.workers) proxy?.setDelay(3 * second);
  const writesBefore = await statusWrites(fleet);
  const attempts = await deleteEverywhere(fleet, names);
  const writes = difference(await statusWrites(fleet), writesBefore);
  const figures = deletionFigures(attempts);
  for (const { proxy } of fleet.workers) proxy?.setDelay(0);
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
  assert.equal(available.serving, floor);
  assert.equal(available.minimum, floor);
  await fleet.waitCounted("web", floor);
  await fleet.waitSettled("web", 30 * second);
  // A second wave finds nothing to take.
  const again = deletionFigures(await deleteEverywhere(fleet, names.slice(0, 50)));
  assert.equal(again.deleted, 0);
  assert.equal(available.minimum, floor);
  return {
    ...figures,
    left: available.serving,
    writesPerDeletion: round(writes.written / figures.deleted),
    conflictPercent: round((100 * writes.conflicts) / Math.max(1, writes.written + writes.conflicts)),
  };
}

async function killed(context: CaseContext): Promise<Figures> {
  const { fleet, available, names } = await prepare(context, {});
  const [webhook] = fleet.webhooks;
  const [aggregator] = fleet.aggregators;
  assert.ok(webhook !== undefined && aggregator !== undefined && fleet.generator !== undefined);
  const deleting = deleteEverywhere(fleet, names);
  await waitFor("thirty pods are gone", 30 * second, () => available.serving <= 2 * podsPerCell - 30);
  await Promise.all([webhook.kill(), aggregator.kill(), fleet.generator.kill()]);
  const atKill = available.serving;
  const first = await deleting;
  fleet.webhooks[0] = await webhook.startAgain();
  fleet.aggregators[0] = await aggregator.startAgain();
  fleet.generator = await fleet.generator.startAgain();

  // What the killed webhook had reserved and not answered comes back by fencing; a patient caller then gets all of it.
  const startMs = performance.now();
  const attempts = [...first];
  await waitFor("all quota is used", 90 * second, async () => {
    const gone = new Set(attempts.filter(({ code }) => code === 200).map(({ name }) => name));
    attempts.push(...(await deleteEverywhere(fleet, names.filter((name) => !gone.has(name)).slice(0, 30))));
    await new Promise((resolve) => setTimeout(resolve, 500));
    return available.serving === floor;
  });
  const comebackMs = Math.round(performance.now() - startMs);
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
