/** PodDisruptionBudgets: their fields, as the disruption controller reads them. Pure. */
import * as v from "valibot";
import { selectorField } from "../../api/v1alpha1/label-selector.ts";
import { budgetTraits, type BudgetKind, limitFields, limitOf } from "./budget.ts";

const schema = v.object({ ...limitFields, selector: v.nullish(selectorField) });

export const podDisruptionBudgets: BudgetKind = {
  ...budgetTraits,
  id: "poddisruptionbudgets.policy",
  resource: { group: "policy", version: "v1", resource: "poddisruptionbudgets" },
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  prefix: "poddisruptionbudget-",
  floorFields: "spec.minAvailable or spec.maxUnavailable, and the replicas of what it selects",
  readBudget(raw) {
    const read = v.safeParse(schema, raw ?? {});
    if (!read.success) return undefined;
    // The disruption controller lets nothing go when neither is set. An API server accepts one only.
    const limit = limitOf(read.output);
    return limit === "invalid" ? undefined : { limit, selector: read.output.selector ?? undefined };
  },
};
