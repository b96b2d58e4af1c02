/** Limits that small worlds reach: some worlds have them instead of those of production. */
import { type Limits } from "../../../src/roles/runtime.ts";
import { historyLimits, type HistoryLimits } from "../../../src/accounting/history/record.ts";
import { type Plan } from "../plan.ts";

type Size = Pick<Plan, "hasSmallLimits" | "cells" | "loss">;
type Long = Pick<Plan, "hourMs" | "faults">;

/** What counts take, and summary and conditions with room for a few buckets. */
const countsBytes = { ofCell: 420, others: 1_600 };
/** A lost cell keeps its buckets for ever: that many in a history, of at most so many bytes. */
const lostBytes = 10 * 180;
const trueHourMs = 3_600_000;
/** By the list of releases mass changes are counted, so it holds them all. */
const releasesMax = { usual: 8, withMassChanges: 100 };

/** What it does not say is as in production. */
export function limitsOf(plan: Size & Long): Limits {
  const history = plan.hasSmallLimits ? historyLimitsOf(plan) : undefined;
  return {
    ...(history && { history, fences: { fencesWaitingMax: 3, fencedPodsMax: 6 } }),
    ...(plan.hourMs < trueHourMs && {
      releasesMax: plan.faults.has("mass-changes") ? releasesMax.withMassChanges : releasesMax.usual,
      retiredPerRound: 1,
    }),
  };
}

export function historyLimitsOf({ hasSmallLimits, cells, loss }: Size): HistoryLimits {
  if (!hasSmallLimits) return historyLimits;
  const statusBytesMax = countsBytes.ofCell * cells.length + countsBytes.others + (loss === "none" ? 0 : lostBytes);
  return { deletesMax: 6, evictionsMax: 4, statusBytesMax };
}
