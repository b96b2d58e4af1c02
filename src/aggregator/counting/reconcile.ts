/** One aggregation of one PodProtector: settle, count, and write both in one compare-and-swap. */
import { type PodRecord } from "../../api/pod.ts";
import { planCell } from "../../accounting/count/cell-plan.ts";
import { foreignKinds, isLeftOutOf, OwnPods } from "../../accounting/count/foreign-owners.ts";
import { countPods } from "../../accounting/count/pod-counts.ts";
import { type Vouched, vouchedBy } from "../../accounting/count/ready-times.ts";
import { type ProtectorMemory } from "../../accounting/count/protector-memory.ts";
import { type FenceRegistry } from "../../accounting/settle/fence-registry.ts";
import { type SettlementConfig, type Snapshot } from "../../accounting/settle/settlement.ts";
import { type SyncTime } from "../../accounting/settle/sync-time.ts";
import { assertNever } from "../../util/assert.ts";
import { type Clock, earlierOf, type EpochMicros, later, type MonotonicMs } from "../../util/clock.ts";
import { type Outcome } from "../../work-queue/index.ts";
import { type CellWriter } from "./cell-writer.ts";

/**
 * The cell as one aggregation sees it, all read at one moment. Version, barrier and time are read before the pods are
 * counted, so that the counts are at least as new as they claim.
 */
export interface CellView {
  readonly snapshot: Snapshot;
  /** The newest moment that the snapshot certainly covers. */
  readonly lastEventTime: EpochMicros | undefined;
  /** The pods that the PodProtector counts. */
  readonly pods: Iterable<PodRecord>;
  /** Since when a Ready pod has been so, by what recorded counts vouch for, too. */
  readonly readySince: (pod: PodRecord, vouched: Vouched | undefined) => EpochMicros | undefined;
}

export interface ReconcileTools {
  readonly config: SettlementConfig & { readonly cellID: string; readonly syncTime: SyncTime };
  readonly fences: FenceRegistry;
  readonly writer: CellWriter;
  readonly clock: Clock;
}

export interface Pass {
  readonly outcome: Outcome;
  /** Aggregate again when the watch has moved. */
  readonly waitsForEvent: boolean;
  /** Aggregate again when a barrier sent after this moment has been passed. */
  readonly barrierFromMs: MonotonicMs | undefined;
  /** UIDs of pods to fence. */
  readonly fence: readonly string[];
  /** The recorded version belongs to a former history of the worker. */
  readonly isObsolete: boolean;
  /** What is recorded is now what the snapshot shows. */
  readonly isCounted: boolean;
}

/** Resolves to what to wait for next. The PodProtector must be countable. Never rejects for operating errors. */
export async function reconcileProtector(
  memory: ProtectorMemory,
  cell: CellView,
  tools: ReconcileTools,
  signal: AbortSignal,
): Promise<Pass> {
  const { config, clock, fences } = tools;
  const { snapshot, lastEventTime } = cell;
  const nowMs = clock.monotonicMs();
  const now = clock.epochMicros();
  const buckets = memory.buckets();
  const { firstSeen, newest } = memory;
  const settlement = config.syncTime.settle({ buckets, firstSeen, snapshot, fences, config, nowMs }, lastEventTime);
  const { minReadySeconds } = newest.protector.spec;
  const { cellID, settleWindowMs } = config;
  const recorded = memory.recorded();
  const vouched = vouchedBy(recorded, memory.countedSpec(), minReadySeconds);
  const leavesOut = memory.foreignOwners.over(recorded, snapshot.barrierSentAtMs, settleWindowMs);
  const own = new OwnPods(leavesOut.kinds, foreignKinds(newest.protector));
  const census = countPods(own.among(cell.pods), minReadySeconds, now, (pod) =>
    // Of what counts leave out they tell nothing.
    cell.readySince(pod, isLeftOutOf(recorded, pod) ? undefined : vouched),
  );
  const { foreignReplicas } = own;
  const plan = planCell({
    cellID,
    memory,
    snapshot,
    lastEventTime,
    settlement,
    settleWindowMs,
    nowMs,
    now,
    census: foreignReplicas === undefined ? census : { ...census, counts: { ...census.counts, foreignReplicas } },
    countedOwners: own.countedOwners(recorded),
  });
  const untilAvailableMs = census.nextAvailableAt === undefined ? undefined : (census.nextAvailableAt - now) / 1000;
  const untilWakeMs = settlement.wakeAtMs === undefined ? undefined : settlement.wakeAtMs - nowMs;
  const waits: Pass = {
    outcome: doneUntil(earlierOf(untilAvailableMs, untilWakeMs)),
    waitsForEvent: settlement.buckets.length > 0,
    barrierFromMs: earlierOf(settlement.barrierFromMs, leavesOut.untilMs),
    fence: settlement.fence,
    isObsolete: false,
    isCounted: true,
  };

  switch (plan.kind) {
    case "unchanged": {
      const outcome = await tools.writer.writeConditions(memory, cellID, signal);
      return outcome.kind === "done" ? waits : { ...waits, outcome };
    }
    case "behind": {
      // The watch usually gets there by itself. A barrier that was sent later and was passed proves that it never will.
      const sinceMs = memory.behindSinceMs(nowMs);
      return {
        ...waits,
        waitsForEvent: true,
        barrierFromMs: earlierOf(later(sinceMs, config.settlementFenceDelayMs), waits.barrierFromMs),
        isObsolete: snapshot.barrierSentAtMs > sinceMs,
        isCounted: false,
      };
    }
    case "barrier":
      return { ...waits, barrierFromMs: earlierOf(plan.fromMs, waits.barrierFromMs), isCounted: false };
    case "write": {
      const outcome = await tools.writer.write(memory, plan.cell, settlement.settled, signal);
      return outcome.kind === "done" ? waits : { ...waits, outcome, isCounted: false };
    }
    default:
      return assertNever(plan);
  }
}

function doneUntil(requeueAfterMs: number | undefined): Outcome {
  return requeueAfterMs === undefined ? { kind: "done" } : { kind: "done", requeueAfterMs };
}
