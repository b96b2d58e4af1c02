/**
 * PodDisruptionBudgets: their fields, and how many pods must stay by them, as the disruption controller computes it
 * (getExpectedPodCount). How many pods there should be is not in the object: generator/budget-sources.ts asks the
 * workloads. A budget is never written, so it has no finalizer of ours. Pure.
 */
import * as v from "valibot";
import { laterWriter, readFieldWriters } from "../api/field-writers.ts";
import { fieldsOf } from "../api/json.ts";
import { finalizer } from "../api/v1alpha1/names.ts";
import { type LabelSelector } from "../api/v1alpha1/pod-protector.ts";
import { type Floor, intOrPercent, type IntOrPercent, percentOf, podsOf } from "./floor.ts";
import { readSourceHead, selectorField } from "./read-source.ts";
import { type SourceHead, type SourceKind, type SourceSpec } from "./source.ts";

const schema = v.object({
  minAvailable: v.nullish(intOrPercent),
  maxUnavailable: v.nullish(intOrPercent),
  selector: v.nullish(selectorField),
});

export const podDisruptionBudgets: SourceKind = {
  id: "poddisruptionbudgets.policy",
  resource: { group: "policy", version: "v1", resource: "poddisruptionbudgets" },
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  prefix: "poddisruptionbudget-",
  strategyField: undefined,
  floorFields: "spec.minAvailable or spec.maxUnavailable, and the replicas of what it selects",
  lentBy: "its minAvailable or maxUnavailable",
  isOnlyProtectedAlone: false,
  isNeverWritten: true,
  // It depends on the workloads, too.
  readSpec: () => undefined,
};

export interface Budget {
  readonly limit:
    | { readonly field: "minAvailable" | "maxUnavailable"; readonly value: IntOrPercent }
    /** Neither is set: the disruption controller lets nothing go. */
    | undefined;
  /** Undefined selects no pods, an empty one all of the namespace. */
  readonly selector: LabelSelector | undefined;
}

export interface BudgetHead extends SourceHead {
  /** Undefined when it is invalid. */
  readonly budget: Budget | undefined;
}

/** How many pods a budget is about. */
export interface Expected {
  readonly replicas: number;
  /** It selects pods that nothing controls besides. */
  readonly hasBarePods: boolean;
}

/** Undefined when the object is no object of the API. `kind`: what the record is to be of. Never throws. */
export function readBudgetHead(kind: SourceKind, raw: unknown): BudgetHead | undefined {
  const head = readSourceHead(kind, raw);
  if (head === undefined) return undefined;
  const { metadata, spec } = fieldsOf(raw);
  const { managedFields } = fieldsOf(metadata);
  const [min, max] = ["minAvailable", "maxUnavailable"].map((field) => readFieldWriters(managedFields, field).strategy);
  const writers = { ...head.writers, strategy: laterWriter(min, max) };
  // Nobody would ever take a finalizer off that people gave it by mistake.
  const finalizers = head.finalizers.filter((one) => one !== finalizer);
  return { ...head, finalizers, writers, budget: readBudget(spec) };
}

/** Undefined when it is invalid, as far as an API server checks it. Never throws. */
export function readBudget(raw: unknown): Budget | undefined {
  const read = v.safeParse(schema, raw ?? {});
  if (!read.success) return undefined;
  const { minAvailable, maxUnavailable, selector } = read.output;
  // In this order, as the disruption controller looks at them. An API server accepts one only.
  const field = (maxUnavailable ?? undefined) === undefined ? "minAvailable" : "maxUnavailable";
  const value = maxUnavailable ?? minAvailable ?? undefined;
  if (value !== undefined && !isValid(value)) return undefined;
  return { limit: value === undefined ? undefined : { field, value }, selector: selector ?? undefined };
}

/** Whether the number of replicas matters to it at all: minAvailable as a number does not depend on it. */
export function isByNumber({ limit }: Budget): boolean {
  return limit?.field === "minAvailable" && typeof limit.value === "number";
}

/** What its PodProtector depends on. */
export function budgetSpec(budget: Budget, expected: Expected): SourceSpec {
  const selector = budget.selector ?? selectsNothing;
  const floor = budget.selector === undefined ? floorOf(budget, nothing) : floorOf(budget, expected);
  return { replicas: floor.replicas, minReadySeconds: 0, selector, floorBy: () => floor };
}

const nothing: Expected = { replicas: 0, hasBarePods: false };

/** A LabelSelector that is null, which a PodProtector cannot have. */
const selectsNothing: LabelSelector = {
  matchExpressions: [
    { key: "podseidon.kubewharf.io/nothing", operator: "Exists" },
    { key: "podseidon.kubewharf.io/nothing", operator: "DoesNotExist" },
  ],
};

/**
 * Never above the replicas, which is less than the disruption controller asks for: with a floor above them no workload
 * could be scaled down, nor updated with surge pods. It need not think of that, since it guards evictions alone.
 */
function floorOf({ limit }: Budget, { replicas, hasBarePods }: Expected): Floor {
  const desired = desiredOf(limit, replicas);
  // How many pods without a controller there should be is known to the owner of the budget alone.
  const isOpen = hasBarePods && limit?.field === "minAvailable" && typeof limit.value === "number";
  if (isOpen) return { minAvailable: desired, replicas: Math.max(replicas, desired), kind: "drainable" };
  const minAvailable = Math.min(desired, replicas);
  if (replicas > 0 && minAvailable === replicas)
    return { minAvailable, replicas, kind: "undrainable", reason: "MinAvailableCoversReplicas" };
  if (replicas > 0 && minAvailable === 0)
    return { minAvailable, replicas, kind: "unprotected", reason: "MinAvailableZero" };
  return { minAvailable, replicas, kind: "drainable" };
}

/** Percentages round up, of what may go as of what must stay (GetScaledValueFromIntOrPercent). */
function desiredOf(limit: Budget["limit"], replicas: number): number {
  if (limit === undefined) return replicas;
  const pods = podsOf(limit.value, replicas, Math.ceil);
  return limit.field === "minAvailable" ? pods : Math.max(0, replicas - pods);
}

function isValid(value: IntOrPercent): boolean {
  if (typeof value === "number") return Number.isSafeInteger(value) && value >= 0 && value <= 2_147_483_647;
  const percent = percentOf(value);
  return percent !== undefined && percent <= 100;
}
