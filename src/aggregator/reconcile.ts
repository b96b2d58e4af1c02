/** One aggregation of one PodProtector: settle, count, and write both in one compare-and-swap. */
import { type PodRecord } from "../api/pod.ts";
import { type CellStatus, type PodProtectorStatus } from "../api/v1alpha1/pod-protector.ts";
import { type OwnAggregation } from "../accounting/count/cell-memory.ts";
import { planCell } from "../accounting/count/cell-plan.ts";
import { countedSpec } from "../accounting/count/counted-spec.ts";
import { countPods } from "../accounting/count/pod-counts.ts";
import { type Settlement } from "../accounting/settle/settlement.ts";
import { type Snapshot } from "../accounting/settle/snapshot.ts";
import { summarize } from "../accounting/count/summary.ts";
import { readProtectorLive, swapStatusAndCheck } from "../kube/pod-protectors.ts";
import { type StoredProtector } from "../kube/resources.ts";
import { assertNever } from "../util/assert.ts";
import { type Outcome } from "../work-queue/index.ts";
import { type Aggregator } from "./controller.ts";
import { type ProtectorState } from "./protector-state.ts";

export interface Pass {
  readonly outcome: Outcome;
  /** Look again when the watch has moved. */
  readonly waitsForEvent: boolean;
  /** Look again when a barrier sent at or after this moment has been passed. */
  readonly barrierFromMs: number | undefined;
  /** Pods to fence. */
  readonly fence: readonly string[];
  /** The recorded version belongs to a former history of the worker. */
  readonly historyReset: boolean;
}

const idle = { waitsForEvent: false, barrierFromMs: undefined, fence: [], historyReset: false } as const;

/** Resolves to what to wait for next. Never rejects for operating errors. */
export async function reconcileProtector(
  aggregator: Aggregator,
  key: string,
  state: ProtectorState,
  selectorText: string,
  signal: AbortSignal,
): Promise<Pass> {
  const { deps, config, cellPods } = aggregator;
  if (state.needsLiveRead) {
    const end = await readLive(aggregator, state, signal);
    if (end !== undefined) return { ...idle, outcome: end };
  }

  // Version, barrier and time are read before the counts, so that counts are never newer than they claim.
  const snapshot = aggregator.snapshot();
  if (snapshot === undefined) return { ...idle, outcome: { kind: "done" }, waitsForEvent: true };
  const nowMs = deps.clock.monotonicMs();
  const now = deps.clock.epochMicros();
  const base = state.newest;
  const { spec, metadata } = base.protector;
  const settlement = settleCell(aggregator, state, snapshot, nowMs);
  const census = countPods(podsOf(aggregator, key), spec.minReadySeconds, now);
  const plan = planCell({
    cellID: config.cellID,
    cell: state.cell(),
    census,
    countedSpec: countedSpec(metadata.uid, selectorText, spec.minReadySeconds),
    snapshot,
    lastEventTime: cellPods.lastEventTime,
    settlement,
    memory: state.memory,
    settleWindowMs: config.settleWindowMs,
    nowMs,
    now,
  });
  const untilAvailableMs = census.nextAvailableAt === undefined ? undefined : (census.nextAvailableAt - now) / 1000;
  const untilWakeMs = settlement.wakeAtMs === undefined ? undefined : settlement.wakeAtMs - nowMs;
  const requeueAfterMs = least(untilAvailableMs, untilWakeMs);
  const done: Outcome = requeueAfterMs === undefined ? { kind: "done" } : { kind: "done", requeueAfterMs };
  const waits = {
    waitsForEvent: settlement.buckets.length > 0,
    barrierFromMs: settlement.barrierFromMs,
    fence: settlement.fence,
    historyReset: false,
  };

  switch (plan.kind) {
    case "unchanged":
      return { ...waits, outcome: done };
    case "behind": {
      // The watch usually gets there by itself. A barrier that was sent later and passed says that it never will.
      const sinceMs = state.behindSinceMs(nowMs);
      return {
        ...waits,
        outcome: done,
        waitsForEvent: true,
        barrierFromMs: least(sinceMs + config.settlementFenceDelayMs, settlement.barrierFromMs),
        historyReset: snapshot.barrierSentAtMs > sinceMs,
      };
    }
    case "barrier":
      return { ...waits, outcome: done, barrierFromMs: least(plan.fromMs, settlement.barrierFromMs) };
    case "write": {
      const outcome = await write(aggregator, state, plan.cell, settlement, signal);
      return { ...waits, outcome: outcome.kind === "done" ? done : outcome };
    }
    default:
      return assertNever(plan);
  }
}

function settleCell(
  { config, fences, cellPods }: Aggregator,
  state: ProtectorState,
  snapshot: Snapshot,
  nowMs: number,
): Settlement {
  const buckets = state.cell()?.admissionHistory?.buckets ?? [];
  return config.syncTime.settle(
    { buckets, firstSeen: state.firstSeen, snapshot, fences, config, nowMs },
    cellPods.lastEventTime,
  );
}

/** Reads the object live; the outcome of the whole pass when that is its end. */
async function readLive(
  { deps }: Aggregator,
  state: ProtectorState,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const { resourceVersion: knownVersion, protector } = state.newest;
  const live = await readProtectorLive(deps.core, protector.metadata, { signal });
  switch (live.kind) {
    case "read":
      // Replaced: the watch will say so.
      if (!isSameObject(live.stored, state)) return { kind: "done" };
      state.readLive(live.stored, knownVersion, deps.clock.monotonicMs());
      return undefined;
    case "gone":
      // The watch will say so.
      return { kind: "done" };
    case "invalid":
    case "failed":
      return { kind: "failed", error: live.error };
    default:
      return assertNever(live);
  }
}

/** Whether the CRD dropped the extension fields of what was written. */
function isPruned({ protector }: StoredProtector, cellID: string): boolean {
  const written = protector.status?.cells.find((cell) => cell.cellID === cellID);
  return written?.aggregation?.countedSpec === undefined;
}

async function write(
  aggregator: Aggregator,
  state: ProtectorState,
  cell: CellStatus & { readonly aggregation: OwnAggregation },
  settlement: Settlement,
  signal: AbortSignal,
): Promise<Outcome> {
  const { deps } = aggregator;
  const { metrics, clock } = deps;
  const base = state.newest;
  const outcome = await swapStatusAndCheck(deps.core, base, withCell(base.protector.status, cell), { signal });
  metrics.statusWrites.inc({ result: outcome.kind });
  switch (outcome.kind) {
    case "written":
      state.memory.wrote(cell.aggregation);
      state.wrote(outcome.stored, clock.monotonicMs());
      for (const [reason, weight] of settlement.settled) metrics.settled.inc({ reason }, weight);
      if (isPruned(outcome.stored, cell.cellID)) aggregator.pruning.pruned(outcome.stored.key);
      return { kind: "done" };
    case "conflict":
      // Gone or replaced: the watch will say so.
      if (!isSameObject(outcome.live, state)) return { kind: "done" };
      state.readLive(outcome.live, base.resourceVersion, clock.monotonicMs());
      return { kind: "conflict" };
    case "failed":
      return outcome;
    default:
      return assertNever(outcome);
  }
}

function isSameObject(live: StoredProtector | undefined, state: ProtectorState): live is StoredProtector {
  return live !== undefined && live.uid === state.uid;
}

function withCell(status: PodProtectorStatus | undefined, cell: CellStatus): PodProtectorStatus {
  const cells = status?.cells ?? [];
  const known = cells.some(({ cellID }) => cellID === cell.cellID);
  const all = known ? cells.map((other) => (other.cellID === cell.cellID ? cell : other)) : [...cells, cell];
  return { ...status, cells: all, summary: summarize(all) };
}

function* podsOf(aggregator: Aggregator, key: string): Iterable<PodRecord> {
  for (const podKey of aggregator.matchTable.podKeysOf(key)) {
    const pod = aggregator.cellPods.get(podKey);
    if (pod !== undefined) yield pod;
  }
}

function least(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined) return b;
  return b === undefined ? a : Math.min(a, b);
}
