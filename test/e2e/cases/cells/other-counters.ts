/**
 * Cells whose aggregator has no heartbeats (docs/accounting.md#silent-cells): one of an earlier release or of the
 * original takes over, and an emergency in which somebody deletes the Lease. The last counts stay in force, as they do
 * without heartbeats, and everybody says so.
 */
import assert from "node:assert/strict";
import path from "node:path";
import { cellLeasePath, scaledMs, silenceArgs, waitBeats, waitCellState } from "../../fleet/cell-states.ts";
import { deleteNow } from "../../objects/deletions.ts";
import { earlierRelease } from "../../fleet/earlier-release.ts";
import { type Fleet, type Worker } from "../../fleet/fleet.ts";
import { createPods } from "../../objects/pods.ts";
import { startPodseidon } from "../../fleet/process.ts";
import { startProtectedPods, webLabels } from "../../loads/protected-pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { startUpstreamCounter } from "../../fleet/upstream-counter.ts";
import { GiveUp, present, second, waitFor } from "../../clusters/wait.ts";

const silentAfterMs = 12 * second;
const soonMs = 60 * second;
/** Ends a wait for what happens when the time has passed after which a cell is silent. */
const silenceLimitMs = scaledMs(240 * second, silentAfterMs) + soonMs;

export const otherCounterCases = e2eCases({
  "counters: a cell counted by one without heartbeats, and one whose Lease is deleted, keep what was counted": [
    300 * second,
    (context) => otherCounters(context, startOriginal),
  ],
  // It needs the history of the repository, which a shallow clone has not.
  "counters: a cell counted by the release before heartbeats keeps what was counted": [
    300 * second,
    (context) => otherCounters(context, startEarlierRelease),
    { isLong: true },
  ],
});

type StartCounter = (context: CaseContext, fleet: Fleet, worker: Worker) => Promise<{ stop(): Promise<unknown> }>;

const startOriginal: StartCounter = async (context, fleet, worker) => {
  const counter = startUpstreamCounter(fleet, worker, { name: "web", labelSelector: "app=web" });
  context.cleanup(() => counter.stop());
  return counter;
};

const startEarlierRelease: StartCounter = async ({ processes, directory }, { core, namespace }, { cell, cluster }) => {
  const aggregator = await startPodseidon({
    processes,
    directory,
    name: "aggregator-earlier",
    role: "aggregator",
    program: earlierRelease(path.join(directory, "earlier")).program,
    args: [
      `--core-kube-config=${core.kubeconfigPath("admin")}`,
      `--worker-kube-config=${cluster.kubeconfigPath("admin")}`,
      `--aggregator-cell-id=${cell}`,
      "--aggregator-leader-elector-namespace=default",
      `--aggregator-leader-elector-name=earlier-${namespace}`,
      // In a cell where nothing happens nothing else moves the time up to which it has seen everything.
      "--update-trigger-enable",
    ],
  });
  return { stop: () => aggregator.terminate() };
};

async function otherCounters(context: CaseContext, startCounter: StartCounter): Promise<Figures> {
  const podsPerCell = 5;
  const { fleet } = await startProtectedPods(context, {
    podsPerCell,
    // Three pods of the second cell may go while the first one's are counted, and none without them.
    floor: 2 * podsPerCell - 2,
    commonArgs: silenceArgs(silentAfterMs),
  });
  const [kept, other] = fleet.workers;
  const aggregator = present(fleet.aggregators[0]);
  assert.ok(kept !== undefined && other !== undefined && fleet.generator !== undefined);
  const observers = [...fleet.webhooks, fleet.generator];
  await waitBeats(fleet, kept.cell, 2, soonMs);
  await waitCellState(observers, kept.cell, "beating", soonMs);

  await aggregator.terminate();
  const replacedMs = performance.now();
  const counter = await startCounter(context, fleet, kept);
  // It writes what it counts at the latest when that changes.
  await createPods(kept.cluster.admin, { namespace: fleet.namespace, count: 1, namePrefix: "late", labels: webLabels });
  await fleet.waitCounted("web", 2 * podsPerCell + 1);
  await waitCellState(observers, kept.cell, "keep", silenceLimitMs);
  const keptMs = Math.round(performance.now() - replacedMs);
  await admitted(fleet, other, "web-0");

  // The aggregator with heartbeats comes back.
  await counter.stop();
  fleet.aggregators[0] = await aggregator.startAgain();
  await waitCellState(observers, kept.cell, "beating", silenceLimitMs);
  await fleet.waitCounted("web", 2 * podsPerCell, soonMs);

  // And in an emergency somebody takes the heartbeats out.
  await fleet.aggregators[0].kill();
  await fleet.core.admin.remove(cellLeasePath(fleet, kept.cell));
  const deletedMs = performance.now();
  await waitCellState(observers, kept.cell, "keep", silenceLimitMs);
  const vanishedMs = Math.round(performance.now() - deletedMs);
  await admitted(fleet, other, "web-1");

  for (const observer of observers) {
    const log = observer.process.log();
    assert.match(log, /other-counter/, `${observer.process.name} says why it keeps the cell`);
    assert.match(log, /lease-vanished/, `${observer.process.name} says that the Lease has vanished`);
    assert.doesNotMatch(log, /Cell is silent/, `${observer.process.name} took the cell for silent`);
  }
  return { keptMs, vanishedMs };
}

/** A deletion that needs the counts of the other cell. */
async function admitted({ namespace }: Fleet, { cluster }: Worker, name: string): Promise<void> {
  await waitFor(`${name} may be deleted`, soonMs, async () => {
    const { code, message } = await deleteNow(cluster.admin, namespace, name);
    if (code === 200) return true;
    if (code !== 429) throw new GiveUp(`${code}: ${message}`);
    return false;
  });
}
