/** Limits that small worlds reach: some worlds have them instead of those of production. */
import { type Limits } from "../../../src/roles/runtime.ts";
import { historyLimits, type HistoryLimits } from "../../../src/accounting/history/record.ts";
import { type Plan } from "../plan.ts";

type Size = Pick<Plan, "hasSmallLimits" | "cells">;

/** What counts take, with summary and conditions, and room for a dozen buckets. */
const countsBytes = { ofCell: 420, others: 700 };

/** Undefined = those of production. */
export function limitsOf({ hasSmallLimits, cells }: Size): Limits | undefined {
  if (!hasSmallLimits) return undefined;
  const statusBytesMax = countsBytes.ofCell * cells.length + countsBytes.others;
  return {
    history: { deletesMax: 6, evictionsMax: 4, statusBytesMax },
    fences: { fencesWaitingMax: 3, fencedPodsMax: 6 },
  };
}

export function historyLimitsOf(plan: Size): HistoryLimits {
  return limitsOf(plan)?.history ?? historyLimits;
}
