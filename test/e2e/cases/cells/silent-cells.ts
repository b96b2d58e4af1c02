/**
 * A worker cluster dies while pods of the other cells are deleted and evicted in masses. Its pods count until it is
 * silent, then for nothing; when it is back, they count again.
 */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { cellLeaseName } from "../../../../src/api/cell-lease.ts";
import { AvailableWatch } from "../../loads/available.ts";
import { cellStateOf, scaledMs, silenceArgs, waitCellState } from "../../fleet/cell-states.ts";
import { deleteNow, type DeletionAttempt, deletionFigures, deletePods } from "../../objects/deletions.ts";
import { eventMessage } from "../../objects/events.ts";
import { type Fleet, type Worker } from "../../fleet/fleet.ts";
import { createPods, isServing, listPods } from "../../objects/pods.ts";
import { type PodseidonProcess } from "../../fleet/process.ts";
import { startProtectedPods } from "../../loads/protected-pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { present, second, waitFor } from "../../clusters/wait.ts";

const minute = 60 * second;
const podsPerCell = 10;
/** Three cells. Without the one that dies, 20 pods are left, so five may go. */
const floor = 15;
/** Deletions while the dead cell still counts. */
const early = 2;
const lone = "lone";
/** A pause between two waves, so that they do not take the machine from everything else. */
const wavePauseMs = second;

/** With the default of --silent-cell-after, from the death of the cluster to its return; it scales with that flag. */
const outageDefaultMs = 10 * minute;

interface Outage {
  /** --silent-cell-after. */
  readonly silentAfterMs: number;
  /** What a busy machine, and waits that do not scale, such as those of watches, may add to a limit. */
  readonly slackMs: number;
}

export const silentCellCases = e2eCases({
  "silent cell: a worker cluster dies and the others are emptied down to the floor, S = 18 s": [
    300 * second,
    (context) => clusterDies(context, { silentAfterMs: 18 * second, slackMs: 45 * second }),
  ],
  "silent cell: a worker cluster dies for 10 minutes and the others are emptied down to the floor, default S": [
    20 * minute,
    (context) => clusterDies(context, { silentAfterMs: 3 * minute, slackMs: 0 }),
    { isLong: true },
  ],
});

async function clusterDies(context: CaseContext, outage: Outage): Promise<Figures> {
  const { silentAfterMs, slackMs } = outage;
  const outageMs = scaledMs(outageDefaultMs, silentAfterMs);
  const { fleet, available, names } = await startProtectedPods(context, {
    workers: ["worker-1", "worker-2", "core"],
    podsPerCell,
    floor,
    commonArgs: silenceArgs(silentAfterMs),
  });
  const [dead, ...living] = fleet.workers;
  const deadAggregator = present(fleet.aggregators[0]);
  const neighbour = present(living[0]);
  assert.ok(dead !== undefined);
  const others = new AvailableWatch(context, { namespace: fleet.namespace, workers: living }, "app=web");
  await others.begin(2 * podsPerCell);
  await protectLone(fleet, dead);
  await waitCellState(observers(fleet), dead.cell, "beating", minute);

  // Only its API server dies: its aggregator goes on, and must find that it can vouch for nothing.
  await dead.cluster.killApiServer();
  const diedMs = performance.now();
  const sinceDeath = (): number => Math.round(performance.now() - diedMs);
  // A replica that starts in an outage is not ready before it knows who is silent.
  const startLimitMs = scaledMs(90 * second, silentAfterMs) + 30 * second;
  await addReplica(fleet, "webhook-early", startLimitMs);
  const earlyNames = names.slice(0, early);
  const whileCounted = await Promise.all(
    earlyNames.map((name) => deleteNow(neighbour.cluster.admin, fleet.namespace, name)),
  );
  assert.deepEqual(
    whileCounted.map(({ code }) => code),
    earlyNames.map(() => 200),
    "the dead cell counts until it is silent",
  );
  const silentLimitMs = scaledMs(4 * minute, silentAfterMs) + slackMs;
  await waitCellState(observers(fleet), dead.cell, "silent", silentLimitMs - sinceDeath());
  const silentMs = sinceDeath();
  await waitTold(fleet, dead);
  const late = await addReplica(fleet, "webhook-late", startLimitMs);
  assert.equal(await cellStateOf(late, dead.cell), "silent");

  // The newcomers first, then all: whoever is asked, the floor holds without the dead cell.
  const attempts: DeletionAttempt[] = [];
  fleet.balancer?.setTargets(fleet.webhooks.slice(-2).map(({ ports }) => ports.webhook));
  attempts.push(...(await takeEverything(fleet, living, names)));
  fleet.balancer?.setTargets(fleet.webhooks.map(({ ports }) => ports.webhook));
  await waitFor("what the floor allows is gone", 30_000, () => others.serving === floor);
  while (sinceDeath() < outageMs) {
    attempts.push(...(await takeEverything(fleet, living, names)));
    await delay(wavePauseMs);
  }
  const refusal = present(attempts.find(({ code }) => code === 429));
  context.say(refusal.message);
  assert.match(refusal.message, new RegExp(dead.cell), "the refusal names the silent cell");
  assert.equal(others.serving, floor);
  assert.equal(others.minimum, floor, "pods of a silent cell were counted");
  const whileSilent = deletionFigures(attempts);

  // The cluster is back before its aggregator, which has lived through it all: what its pods need cannot be judged.
  deadAggregator.process.signal("SIGSTOP");
  await dead.cluster.startApiServer();
  const backMs = performance.now();
  const inside = await waitFor("a deletion in the silent cell is refused", minute, async () => {
    const attempt = await deleteNow(dead.cluster.admin, fleet.namespace, names[0] ?? "");
    assert.notEqual(attempt.code, 200, "admitted in a silent cell");
    return attempt.code === 429 && attempt;
  });
  context.say(inside.message);
  deadAggregator.process.signal("SIGCONT");
  const quotaLimitMs = scaledMs(2 * minute, silentAfterMs) + slackMs;
  const sinceReturn = (): number => Math.round(performance.now() - backMs);
  await waitFor("a deletion is admitted again", quotaLimitMs - sinceReturn(), async () => {
    const [pod] = await servingNames(fleet, neighbour);
    return (await deleteNow(neighbour.cluster.admin, fleet.namespace, pod ?? "")).code === 200;
  });
  const quotaMs = sinceReturn();
  await waitCellState(observers(fleet), dead.cell, "beating", quotaLimitMs);
  await waitCondition(fleet, "False");
  await waitFor("all quota is used", minute, async () => {
    await takeEverything(fleet, fleet.workers, names);
    return available.serving === floor;
  });
  await fleet.waitCounted("web", floor);
  await fleet.waitSettled("web", minute);
  assert.equal(available.minimum, floor);
  return { silentMs, whileSilent: whileSilent.deleted, refused: whileSilent.refused, quotaMs, left: available.serving };
}

function observers({ webhooks, generator }: Fleet): readonly PodseidonProcess[] {
  return [...webhooks, ...(generator === undefined ? [] : [generator])];
}

/** A PodProtector of which nothing is free without the one cell that has its pod. */
async function protectLone(fleet: Fleet, { cluster }: Worker): Promise<void> {
  const labels = { app: lone };
  await createPods(cluster.admin, { namespace: fleet.namespace, count: 1, namePrefix: lone, labels });
  await fleet.protect(lone, labels, 1, 1);
}

/** Resolves when people are told: an Event on the cell's Lease, and a condition where nothing is free. */
async function waitTold(fleet: Fleet, { cell }: Worker): Promise<void> {
  const { core, namespace } = fleet;
  const about = { kind: "Lease", name: cellLeaseName(cell) };
  const query = { namespace, reason: "CellSilent", about };
  await waitFor("an Event on the Lease tells that the cell is silent", minute, () => eventMessage(core.admin, query));
  await waitCondition(fleet, "True");
  const { status } = await fleet.protector("web");
  assert.ok(!status?.conditions?.some(({ type }) => type === "CellSilent"), "the floor of web is within reach");
}

async function waitCondition(fleet: Fleet, value: "True" | "False"): Promise<void> {
  await waitFor(`the condition CellSilent is ${value}`, minute, async () => {
    const { status } = await fleet.protector(lone);
    return status?.conditions?.some(({ type, status: held }) => type === "CellSilent" && held === value);
  });
}

/** One more replica behind the balancer, when it is ready. */
async function addReplica(fleet: Fleet, name: string, readyLimitMs: number): Promise<PodseidonProcess> {
  const replica = present(await fleet.webhooks[0]?.startAnother(name, readyLimitMs));
  fleet.webhooks.push(replica);
  fleet.balancer?.setTargets(fleet.webhooks.map(({ ports }) => ports.webhook));
  return replica;
}

/** One attempt for each pod: deletions in the first of the workers, evictions, as a drain makes them, in the others. */
async function takeEverything(
  { namespace }: Fleet,
  workers: readonly Worker[],
  names: readonly string[],
): Promise<readonly DeletionAttempt[]> {
  const waves = workers.map(({ cluster }, index) => {
    const how = index === 0 ? "delete" : "evict";
    return deletePods(cluster.admin, { namespace, names, concurrency: names.length, how });
  });
  return (await Promise.all(waves)).flat();
}

async function servingNames({ namespace }: Fleet, { cluster }: Worker): Promise<readonly string[]> {
  const pods = await listPods(cluster.admin, namespace, "app=web");
  return pods.filter(isServing).map(({ metadata }) => metadata.name);
}
