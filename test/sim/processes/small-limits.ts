/** Limits that small worlds reach: some worlds have them instead of those of production. */
import { type Limits } from "../../../src/roles/runtime.ts";
import { historyLimits, type HistoryLimits } from "../../../src/accounting/history/record.ts";
import { type Plan } from "../plan.ts";

type Size = Pick<Plan, "hasSmallLimits" | "cells" | "loss">;

/** What counts take, and summary and conditions with room for a few buckets. */
const countsBytes = { ofCell: 420, others: 1_600 };
/** A lost cell keeps its buckets for ever: that many in a history, of at most so many bytes. */
const lostBytes = 10 * 180;

/** Undefined = those of production. */
export function limitsOf({ hasSmallLimits, cells, loss }: Size): Limits | undefined {
  if (!hasSmallLimits) return undefined;
  const statusBytesMax = countsBytes.ofCell * cells.length + countsBytes.others + (loss === "none" ? 0 : lostBytes);
  return {
    history: { deletesMax: 6, evictionsMax: 4, statusBytesMax },
    fences: { fencesWaitingMax: 3, fencedPodsMax: 6 },
  };
}

export function historyLimitsOf(plan: Size): HistoryLimits {
  return limitsOf(plan)?.history ?? historyLimits;
}
