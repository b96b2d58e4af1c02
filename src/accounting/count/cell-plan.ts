/**
 * What the aggregator of a cell writes into one PodProtector, and when it must not (docs/accounting.md#counts).
 *
 * - Counts are never written from an older snapshot than the recorded one. This stops a deposed leader and a lagging
 *   API server (docs/accounting.md#stale-writers).
 * - First counts (no recorded version, or another countedSpec) need a snapshot that has passed a LIST barrier which was
 *   sent after that was seen (docs/accounting.md#first-counts), and a settle window after this process has listed the
 *   PodProtectors, or one was made again (docs/accounting.md#re-made-objects).
 * - Version and time alone cause no write; counts, kinds that they leave out, settled buckets, newly countable pods,
 *   pods that are unseen at a higher version, and generations that were not seen do
 *   (docs/accounting.md#edits-that-are-undone).
 */
import { epochMicrosOf, formatMicroTime, latestTime } from "../../api/micro-time.ts";
import { compareResourceVersions } from "../../api/resource-version.ts";
import { type Aggregation, type CellStatus } from "../../api/v1alpha1/pod-protector.ts";
import { assert } from "../../util/assert.ts";
import { earlierOf, type EpochMicros, later, type MonotonicMs } from "../../util/clock.ts";
import { areSame } from "./foreign-owners.ts";
import { type PodCensus, type PodCounts } from "./pod-counts.ts";
import { type OwnAggregation, type ProtectorMemory } from "./protector-memory.ts";
import { type Settlement, type Snapshot } from "../settle/settlement.ts";

export interface CellPlanInput {
  readonly cellID: string;
  /** Of a countable PodProtector. */
  readonly memory: ProtectorMemory;
  /** Made by the minReadySeconds of the newest version that is remembered. */
  readonly census: PodCensus;
  /** The kinds of controllers that are left out; absent = no pod ever was. */
  readonly countedOwners?: readonly string[] | undefined;
  readonly snapshot: Pick<Snapshot, "version" | "barrierSentAtMs">;
  /** The newest moment certainly covered by the snapshot. */
  readonly lastEventTime: EpochMicros | undefined;
  readonly settlement: Settlement;
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

/** Decides what to write for one cell. Updates the wait for first counts in `memory`, nothing else. */
export function planCell(input: CellPlanInput): CellPlan {
  const { census, memory, snapshot, settlement } = input;
  const recorded = memory.recorded();
  const hasBuckets = settlement.buckets.length > 0 || settlement.settled.size > 0;
  const hasPods = census.counts.totalReplicas > 0 || input.countedOwners !== undefined;
  if (recorded === undefined && !hasPods && !hasBuckets) {
    return { kind: "unchanged" };
  }

  const { restoredSinceMs } = memory;
  if (restoredSinceMs !== undefined) {
    const fromMs = later(restoredSinceMs, input.settleWindowMs);
    if (input.nowMs < fromMs || snapshot.barrierSentAtMs < fromMs) return { kind: "barrier", fromMs };
    return { kind: "write", cell: cellOf(input, recorded, true) };
  }

  const fromMs = memory.countableFromMs(input.settleWindowMs, input.nowMs);
  if (fromMs !== undefined && snapshot.barrierSentAtMs <= fromMs) return { kind: "barrier", fromMs };
  if (isBelow(snapshot, recorded)) return { kind: "behind" };
  const countedAt = recorded?.countedAt;
  const becameCountable =
    census.newestAvailableAt !== undefined &&
    (countedAt === undefined || census.newestAvailableAt > epochMicrosOf(countedAt));
  // A webhook believes that such a pod is not counted only by counts from its version on.
  const isUnseenAnew =
    census.newestUnseen !== undefined &&
    recorded?.resourceVersion !== undefined &&
    compareResourceVersions(recorded.resourceVersion, census.newestUnseen) < 0;
  const hasNothingNew = settlement.settled.size === 0 && !becameCountable && !isUnseenAnew;
  const isSameSplit =
    areSame(recorded?.countedOwners, input.countedOwners) && !memory.foreignOwners.areLostIn(memory.cell());
  const isAsRecorded = hasNothingNew && isSameSplit && haveSameCounts(recorded, census.counts);
  if (fromMs === undefined && isAsRecorded) return { kind: "unchanged" };
  return { kind: "write", cell: cellOf(input, recorded) };
}

/** Whether the snapshot is older than the one that is recorded. */
function isBelow({ version }: CellPlanInput["snapshot"], recorded: Aggregation | undefined): boolean {
  return recorded?.resourceVersion !== undefined && compareResourceVersions(version, recorded.resourceVersion) < 0;
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
    (recorded.initializedReplicas ?? 0) === counts.initializedReplicas &&
    (recorded.unseenReplicas ?? 0) === (counts.unseenReplicas ?? 0) &&
    (recorded.foreignReplicas ?? 0) === (counts.foreignReplicas ?? 0)
  );
}

/**
 * `isRecount`: written whatever is recorded. So it is, too, where that belongs to another cluster, or, being above the
 * snapshot, to a former history of ours.
 */
function cellOf(
  input: CellPlanInput,
  recorded: Aggregation | undefined,
  isRecount = input.memory.isTakenOver || isBelow(input.snapshot, input.memory.cell()?.aggregation),
): CellStatus & { readonly aggregation: OwnAggregation } {
  const { memory, settlement, countedOwners } = input;
  const { counts, aheadUntil } = input.census;
  const countedGeneration = memory.countedGeneration(input.snapshot.barrierSentAtMs);
  const countedSpec = memory.countedSpec();
  assert(countedSpec !== undefined, "only a countable PodProtector is counted");
  const now = formatMicroTime(input.now);
  const seen = input.lastEventTime === undefined ? undefined : formatMicroTime(input.lastEventTime);
  const before = recorded?.lastEventTime;
  // A recorded time in the future comes from a clock that was fast. No event would be newer for a long time.
  const isBeforeUsable = before !== undefined && before <= now;
  const covered = isBeforeUsable && (seen === undefined || seen <= before) ? before : seen;
  const recountedAt = isRecount ? memory.nextMark() : recorded?.recountedAt;
  return {
    ...memory.cell(),
    cellID: input.cellID,
    aggregation: {
      ...counts,
      ...(countedOwners !== undefined && { countedOwners }),
      ...(covered === undefined ? {} : { lastEventTime: covered }),
      resourceVersion: input.snapshot.version,
      countedAt: now,
      ...(aheadUntil !== undefined && { countedAhead: formatMicroTime(earlierOf(aheadUntil, latestTime)) }),
      countedSpec,
      countedMinReadySeconds: memory.newest.protector.spec.minReadySeconds,
      ...(countedGeneration === undefined ? {} : { countedGeneration }),
      ...(recountedAt === undefined ? {} : { recountedAt }),
    },
    admissionHistory: settlement.buckets.length === 0 ? {} : { buckets: settlement.buckets },
  };
}
