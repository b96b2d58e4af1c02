/**
 * PodUnavailableBudgets of OpenKruise: their fields and annotations, as its controller and its webhook read them
 * (docs/generator.md#podunavailablebudgets). What its webhook refuses to store is invalid here, where reading it would
 * lower a floor: then the last one holds. Pure.
 *
 * It is read at v1alpha1, which OpenKruise serves also where it stores v1beta1: what that has as fields comes as the
 * annotations below.
 */
import * as v from "valibot";
import { fieldsOf } from "../../api/json.ts";
import { type Budget, budgetTraits, type BudgetKind, limitFields, limitOf } from "./budget.ts";
import { filledSelectorField } from "../read-source.ts";

const filled = v.pipe(v.string(), v.minLength(1));

const schema = v.object({
  ...limitFields,
  selector: v.nullish(v.unknown()),
  targetRef: v.nullish(v.object({ apiVersion: filled, kind: filled, name: filled })),
  // Counts groups of pods, not pods, so its limits say nothing of these.
  podGroupPolicy: v.nullish(v.never()),
});

/** A comma list of the operations that are guarded; absent or empty = all. */
const operationsAnnotation = "kruise.io/pub-protect-operations";
const guardedHere: ReadonlySet<string> = new Set(["DELETE", "EVICT"]);
const operations: ReadonlySet<string> = new Set([...guardedHere, "UPDATE", "RESIZE"]);
/** How many pods there should be, in place of the replicas of the workloads. */
const totalAnnotation = "pub.kruise.io/protect-total-replicas";
const totalMax = 2_147_483_647;

export const podUnavailableBudgets: BudgetKind = {
  ...budgetTraits,
  id: "podunavailablebudgets.policy.kruise.io",
  resource: { group: "policy.kruise.io", version: "v1alpha1", resource: "podunavailablebudgets" },
  apiVersion: "policy.kruise.io/v1alpha1",
  kind: "PodUnavailableBudget",
  prefix: "podunavailablebudget-",
  floorFields: "spec.minAvailable or spec.maxUnavailable, and the replicas of what it is about",
  readBudget(raw, annotations) {
    const read = v.safeParse(schema, raw ?? {});
    if (!read.success) return undefined;
    const { selector, targetRef } = read.output;
    const limit = limitOf(read.output);
    if (limit === undefined || limit === "invalid") return undefined;
    const common = { limit, ...readAnnotations(annotations) };
    // As its controller does where both are set.
    if ((targetRef ?? undefined) !== undefined) return { ...common, selector: undefined, target: targetRef! };
    const pods = v.safeParse(filledSelectorField, selector);
    return pods.success ? { ...common, selector: pods.output } : undefined;
  },
};

/** One that cannot be read counts as absent: then deletions are guarded, and the workloads say how many there are. */
function readAnnotations(annotations: unknown): Pick<Budget, "statedReplicas" | "isUnguarded"> {
  const { [operationsAnnotation]: guarded, [totalAnnotation]: total } = fieldsOf(annotations);
  const named = typeof guarded === "string" && guarded !== "" ? guarded.split(",") : [];
  const isKnown = named.length > 0 && named.every((one) => operations.has(one));
  const isUnguarded = isKnown && !named.some((one) => guardedHere.has(one));
  const stated = typeof total === "string" && /^\+?\d{1,10}$/.test(total) ? Number(total) : undefined;
  return {
    ...(stated !== undefined && stated <= totalMax ? { statedReplicas: stated } : {}),
    ...(isUnguarded ? { isUnguarded } : {}),
  };
}
