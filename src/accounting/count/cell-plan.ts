/**
 * What the aggregator of a cell writes into one PodProtector, and when it must not (docs/accounting.md#counts).
 *
 * - Counts are never written from an older snapshot than the recorded one. This stops a deposed leader and a lagging
 *   API server (docs/accounting.md#stale-writers).
 * - First counts (no recorded version, or another countedSpec) need a snapshot that has passed a LIST barrier which was
 *   sent after that was seen (docs/accounting.md#first-counts), and a settle window after a PodProtector was made again
 *   (docs/accounting.md#re-made-objects).
 * - Version and time alone cause no write; counts, settled buckets and newly countable pods do.
 */
import { epochMicrosOf, formatMicroTime } from "../../api/micro-time.ts";
import { compareResourceVersions } from "../../api/resource-version.ts";
import { type Aggregation, type CellStatus } from "../../api/v1alpha1/pod-protector.ts";
import { type EpochMicros, later, type MonotonicMs } from "../../util/clock.ts";
import { type CellMemory, type OwnAggregation } from "./cell-memory.ts";
import { type PodCensus, type PodCounts } from "./pod-counts.ts";
import { type Settlement } from "../settle/settlement.ts";
import { type Snapshot } from "../settle/settlement.ts";

export interface CellPlanInput {
  readonly cellID: string;
  readonly cell: CellStatus | undefined;
  readonly census: PodCensus;
  readonly countedSpec: string;
  /** By which `census` was made. */
  readonly minReadySeconds: number;
  readonly snapshot: Pick<Snapshot, "version" | "barrierSentAtMs">;
  /** The newest moment certainly covered by the snapshot. */
  readonly lastEventTime: EpochMicros | undefined;
  readonly settlement: Settlement;
  readonly memory: CellMemory;
  readonly settleWindowMs: number;
  readonly nowMs: MonotonicMs;
  readonly now: EpochMicros;
}

export type CellPlan =
  | { readonly kind: "unchanged" }
  /** The snapshot is older than the recorded one: wait for the watch. */
  | { readonly kind: "behind" }
  /** A LIST barrier sent after `fromMs` must be passed first. */
  | { readonly kind: "barrier"; readonly fromMs: MonotonicMs }
  | { readonly kind: "write"; readonly cell: CellStatus & { readonly aggregation: OwnAggregation } };

/** Decides what to write for one cell. Updates the waits in `memory`, nothing else. */
export function planCell(input: CellPlanInput): CellPlan {
  const { census, memory, snapshot, settlement, countedSpec } = input;
  const recorded = memory.effective(input.cell?.aggregation);
  const hasBuckets = settlement.buckets.length > 0 || settlement.settled.size > 0;
  if (recorded === undefined && census.counts.totalReplicas === 0 && !hasBuckets) {
    return { kind: "unchanged" };
  }

  const restoredSinceMs = memory.restoredSinceMs;
  if (restoredSinceMs !== undefined) {
    const fromMs = later(restoredSinceMs, input.settleWindowMs);
    if (input.nowMs < fromMs || snapshot.barrierSentAtMs < fromMs) return { kind: "barrier", fromMs };
    return { kind: "write", cell: cellOf(input, recorded, true) };
  }

  const recordedVersion = recorded?.resourceVersion;
  if (recordedVersion === undefined || recorded?.countedSpec !== countedSpec) {
    const fromMs = firstCountsFromMs(input);
    if (snapshot.barrierSentAtMs <= fromMs) return { kind: "barrier", fromMs };
    if (recordedVersion !== undefined && compareResourceVersions(snapshot.version, recordedVersion) < 0)
      return { kind: "behind" };
    return { kind: "write", cell: cellOf(input, recorded) };
  }
  memory.firstCountsDone();

  if (compareResourceVersions(snapshot.version, recordedVersion) < 0) return { kind: "behind" };
  const countedAt = recorded?.countedAt;
  const becameCountable =
    census.newestAvailableAt !== undefined &&
    (countedAt === undefined || census.newestAvailableAt > epochMicrosOf(countedAt));
  if (settlement.settled.size === 0 && !becameCountable && haveSameCounts(recorded, census.counts))
    return { kind: "unchanged" };
  return { kind: "write", cell: cellOf(input, recorded) };
}

/** First counts need a barrier that was sent after this moment. */
function firstCountsFromMs({ memory, countedSpec, cell, nowMs, settleWindowMs }: CellPlanInput): MonotonicMs {
  const sinceMs = memory.firstCountsSince(countedSpec, nowMs, cell?.aggregation);
  if (memory.remadeSinceMs === undefined) return sinceMs;
  const settledMs = later(memory.remadeSinceMs, settleWindowMs);
  return settledMs > sinceMs ? settledMs : sinceMs;
}

/** Compares counts; fields that a Go aggregator leaves out are 0. */
export function haveSameCounts(recorded: Aggregation | undefined, counts: PodCounts): boolean {
  return (
    recorded !== undefined &&
    recorded.totalReplicas === counts.totalReplicas &&
    recorded.availableReplicas === counts.availableReplicas &&
    (recorded.readyReplicas ?? 0) === counts.readyReplicas &&
    (recorded.scheduledReplicas ?? 0) === counts.scheduledReplicas &&
    (recorded.runningReplicas ?? 0) === counts.runningReplicas &&
    (recorded.initializedReplicas ?? 0) === counts.initializedReplicas
  );
}

/** Whether what is recorded belongs to another cluster, or, being above the snapshot, to a former history of ours. */
function overrules({ cell, memory, snapshot }: CellPlanInput): boolean {
  if (memory.isTakenOver) return true;
  const recordedVersion = cell?.aggregation?.resourceVersion;
  return recordedVersion !== undefined && compareResourceVersions(snapshot.version, recordedVersion) < 0;
}

/** `isRecount`: written whatever is recorded. */
function cellOf(
  input: CellPlanInput,
  recorded: Aggregation | undefined,
  isRecount = overrules(input),
): CellStatus & { readonly aggregation: OwnAggregation } {
  const { counts } = input.census;
  const now = formatMicroTime(input.now);
  const seen = input.lastEventTime === undefined ? undefined : formatMicroTime(input.lastEventTime);
  const before = recorded?.lastEventTime;
  // A recorded time in the future comes from a clock that was fast. No event would be newer for a long time.
  const isBeforeUsable = before !== undefined && before <= now;
  const covered = isBeforeUsable && (seen === undefined || seen <= before) ? before : seen;
  const recountedAt = isRecount ? input.memory.nextMark(recorded) : recorded?.recountedAt;
  return {
    ...input.cell,
    cellID: input.cellID,
    aggregation: {
      ...counts,
      ...(covered === undefined ? {} : { lastEventTime: covered }),
      resourceVersion: input.snapshot.version,
      countedAt: now,
      countedSpec: input.countedSpec,
      countedMinReadySeconds: input.minReadySeconds,
      ...(recountedAt === undefined ? {} : { recountedAt }),
    },
    admissionHistory: input.settlement.buckets.length === 0 ? {} : { buckets: input.settlement.buckets },
  };
}
