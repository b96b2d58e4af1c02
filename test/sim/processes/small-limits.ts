/** Limits that small worlds reach: some worlds have them instead of those of production. */
import { type Limits } from "../../../src/roles/runtime.ts";
import { historyLimits, type HistoryLimits } from "../../../src/accounting/history/record.ts";
import { type Plan } from "../plan.ts";

const smallLimits: Limits = {
  history: { deletesMax: 6, evictionsMax: 4 },
  fences: { fencesWaitingMax: 3, fencedPodsMax: 6 },
};

/** Undefined = those of production. */
export function limitsOf({ hasSmallLimits }: Pick<Plan, "hasSmallLimits">): Limits | undefined {
  return hasSmallLimits ? smallLimits : undefined;
}

export function historyLimitsOf(plan: Pick<Plan, "hasSmallLimits">): HistoryLimits {
  return limitsOf(plan)?.history ?? historyLimits;
}
