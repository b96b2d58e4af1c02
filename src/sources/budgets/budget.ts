/**
 * Budgets: objects that say how many pods must stay, or may be away, of those that a selector or a reference to a
 * workload means. What all kinds of them share: the arithmetic, as the disruption controller (getExpectedPodCount) and
 * OpenKruise (getDesiredAvailableForPub) do it alike. How many pods there should be is not in the object:
 * feeds/budget-sources.ts asks the workloads. A budget is never written, so it has no finalizer of ours. Pure.
 */
import * as v from "valibot";
import { laterWriter, readFieldWriters } from "../../api/field-writers.ts";
import { fieldsOf } from "../../api/json.ts";
import { finalizer } from "../../api/v1alpha1/names.ts";
import { type FloorTarget, type LabelSelector } from "../../api/v1alpha1/pod-protector.ts";
import { type Floor, intOrPercent, type IntOrPercent, percentOf, podsOf } from "../floor.ts";
import { readSourceHead } from "../read-source.ts";
import { type SourceHead, type SourceKind, type SourceSpec } from "../source.ts";

export interface Budget {
  readonly limit:
    | { readonly field: "minAvailable" | "maxUnavailable"; readonly value: IntOrPercent }
    /** Neither is set: nothing may go. */
    | undefined;
  /** Undefined selects no pods, an empty one all of the namespace. */
  readonly selector: LabelSelector | undefined;
  /** The workload whose pods it is about, in place of a selector. */
  readonly target?: NamedTarget;
  /** How many pods there should be, as the budget itself says; absent = as the workloads say. */
  readonly statedReplicas?: number;
  /** It guards neither deletions nor evictions, so nothing has to stay. */
  readonly isUnguarded?: true;
}

export type NamedTarget = FloorTarget & { readonly name: string };

/** A kind of budgets. */
export interface BudgetKind extends SourceKind {
  /** Undefined when it is invalid. Never throws. */
  readonly readBudget: (spec: unknown, annotations: unknown) => Budget | undefined;
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

/** What all kinds of budgets have in common. */
export const budgetTraits = {
  strategyField: undefined,
  lentBy: "its minAvailable or maxUnavailable",
  isOnlyProtectedAlone: false,
  hasAnyOwner: true,
  isNeverWritten: true,
  // It depends on the workloads, too.
  readSpec: () => undefined,
} as const;

export const limitFields = { minAvailable: v.nullish(intOrPercent), maxUnavailable: v.nullish(intOrPercent) };

/** Undefined when the object is no object of the API. Never throws. */
export function readBudgetHead(kind: BudgetKind, raw: unknown): BudgetHead | undefined {
  const head = readSourceHead(kind, raw);
  if (head === undefined) return undefined;
  const { metadata, spec } = fieldsOf(raw);
  const { managedFields, annotations } = fieldsOf(metadata);
  const [min, max] = ["minAvailable", "maxUnavailable"].map((field) => readFieldWriters(managedFields, field).strategy);
  const writers = { ...head.writers, strategy: laterWriter(min, max) };
  // Nobody would ever take a finalizer off that people gave it by mistake.
  const finalizers = head.finalizers.filter((one) => one !== finalizer);
  return { ...head, finalizers, writers, budget: kind.readBudget(spec, annotations) };
}

/** "invalid" as far as an API server checks it. With both fields maxUnavailable is what counts. */
export function limitOf(read: {
  readonly minAvailable?: IntOrPercent | null | undefined;
  readonly maxUnavailable?: IntOrPercent | null | undefined;
}): Budget["limit"] | "invalid" {
  const { minAvailable, maxUnavailable } = read;
  const field = (maxUnavailable ?? undefined) === undefined ? "minAvailable" : "maxUnavailable";
  const value = maxUnavailable ?? minAvailable ?? undefined;
  if (value === undefined) return undefined;
  return isValid(value) ? { field, value } : "invalid";
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
 * Never above the replicas, which is less than the controllers of budgets ask for: with a floor above them no workload
 * could be scaled down, nor updated with surge pods.
 */
function floorOf({ limit, isUnguarded }: Budget, { replicas, hasBarePods }: Expected): Floor {
  if (isUnguarded === true)
    return { minAvailable: 0, replicas, ...(replicas > 0 ? unguarded : ({ kind: "drainable" } as const)) };
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

const unguarded = { kind: "unprotected", reason: "DeletionsNotGuarded" } as const;

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
