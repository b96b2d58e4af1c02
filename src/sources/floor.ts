/**
 * How many pods must stay, and how percentages become pods: the arithmetic that kinds of sources share
 * (docs/generator.md#floors). Pure.
 *
 * A rolling update lives on surge pods, which a drain does not have: with maxUnavailable rounded down, as Kubernetes'
 * own controller does, the default 25 % of one to three replicas is no pod, and no drain would ever end. So a
 * percentage above zero lets at least one pod go, and a number is taken at its word. The floor is never above what an
 * update leaves, or it would stop the update for ever.
 */
import * as v from "valibot";
import { type Config } from "../config/config.ts";
import { assertNever } from "../util/assert.ts";

/** An absolute number, or a percentage such as "25%". */
export type IntOrPercent = number | string;
export const intOrPercent = v.union([v.number(), v.string()]);

/** How percentages become pods, under the names that the settings have in the Config. */
export type FloorRule = Pick<Config["generator"], "percentRounding" | "singleReplica">;

export type Floor = {
  /** From 0 to `replicas`. */
  readonly minAvailable: number;
  readonly replicas: number;
  /** The annotation of the source that sets it; absent = the fields of its kind do. */
  readonly overriddenBy?: string;
} & (
  | { readonly kind: "drainable" }
  /** All replicas must stay, and there are some. */
  | { readonly kind: "undrainable"; readonly reason: UndrainableReason }
  /** None must stay, and there are some. */
  | { readonly kind: "unprotected"; readonly reason: UnprotectedReason }
);

export type UndrainableReason =
  /** Also "0%", and what is neither a number nor a percentage. */
  | "MaxUnavailableZero"
  /** With the rounding "down" alone. */
  | "RoundedDownToZero"
  /** The only replica is protected by the flag. */
  | "SingleReplica"
  /** By an override or a budget alone. */
  | "MinAvailableCoversReplicas";
export type UnprotectedReason =
  /** The only replica, which any rounding up takes. */
  | "SingleReplica"
  | "MaxUnavailableCoversReplicas"
  /** The strategy takes all pods away by intent. */
  | "Recreate"
  /** By an override or a budget alone. */
  | "MinAvailableZero"
  /** A budget that guards neither deletions nor evictions. */
  | "DeletionsNotGuarded";

const drainable = { kind: "drainable" } as const;

/** What the fields of a source come to. */
export interface FloorFacts {
  /** Never below 0. */
  readonly replicas: number;
  /** What its owner lets go. */
  readonly maxUnavailable: IntOrPercent;
  /** Nobody has set that: the only replica is a matter of the flag. Where the default is a percentage, it is anyway. */
  readonly isByDefault?: boolean;
  /** Pods that its controller takes at once for an update; 0 = it updates none. */
  readonly takenByUpdate: number;
}

/**
 * What Deployments lend by default, and what holds for kinds that have no such field: nobody takes their pods for an
 * update, so it is only a matter of drains.
 */
export const defaultShare = "25%";

export function floorFrom(facts: FloorFacts, rule: FloorRule): Floor {
  const { replicas, maxUnavailable, takenByUpdate } = facts;
  const mayGo = Math.max(takenByUpdate, lentBy(facts, rule));
  const minAvailable = Math.max(0, replicas - mayGo);
  if (replicas === 0 || (minAvailable > 0 && minAvailable < replicas)) return { minAvailable, replicas, ...drainable };
  if (minAvailable === 0) {
    const reason = isUpToRule(facts) ? "SingleReplica" : "MaxUnavailableCoversReplicas";
    return { minAvailable, replicas, kind: "unprotected", reason };
  }
  const isProtected = isUpToRule(facts) && rule.singleReplica === "protected";
  const isZero = (percentOf(maxUnavailable) ?? 0) === 0;
  const reason = isProtected ? "SingleReplica" : isZero ? "MaxUnavailableZero" : "RoundedDownToZero";
  return { minAvailable, replicas, kind: "undrainable", reason };
}

/**
 * Whether there is one replica, and its owner has not said what is to become of it. 100 % is the owner's word that all
 * pods may go, and no matter of rounding.
 */
function isUpToRule({ replicas, maxUnavailable, isByDefault = false }: FloorFacts): boolean {
  const percent = percentOf(maxUnavailable) ?? 0;
  return replicas === 1 && (isByDefault || (percent > 0 && percent < 100));
}

/** Pods that may go by `maxUnavailable` alone. */
function lentBy(facts: FloorFacts, rule: FloorRule): number {
  const { replicas, maxUnavailable } = facts;
  if (isUpToRule(facts) && rule.singleReplica === "protected") return 0;
  const percent = percentOf(maxUnavailable);
  if (percent === undefined || percent === 0) return podsOf(maxUnavailable, replicas, Math.floor);
  const share = (percent * replicas) / 100;
  switch (rule.percentRounding) {
    case "at-least-one":
      return Math.max(1, Math.floor(share));
    case "up":
      return Math.ceil(share);
    case "down":
      return Math.floor(share);
    default:
      return assertNever(rule.percentRounding);
  }
}

/**
 * What Deployments, and what was modelled on them, take at once. If both fields come to 0, a rolling update takes one
 * (deployment util, ResolveFenceposts).
 */
export function takenByRollingUpdate(facts: {
  readonly replicas: number;
  readonly maxUnavailable: IntOrPercent;
  readonly maxSurge: IntOrPercent;
}): number {
  const unavailable = podsOf(facts.maxUnavailable, facts.replicas, Math.floor);
  const surge = podsOf(facts.maxSurge, facts.replicas, Math.ceil);
  return unavailable === 0 && surge === 0 ? 1 : unavailable;
}

/**
 * The pods that a value means. One that is neither a number nor a percentage counts as 0: the API server does not
 * accept it, and 0 protects most.
 */
export function podsOf(value: IntOrPercent, replicas: number, round: (value: number) => number): number {
  if (typeof value === "number") return Math.max(0, value);
  // Multiplied before divided: 0.29 * 100 is 28.999999999999996.
  return round(((percentOf(value) ?? 0) * replicas) / 100);
}

/** The percentage, where it is one. */
export function percentOf(value: IntOrPercent): number | undefined {
  const digits = typeof value === "string" ? /^(\d{1,9})%$/.exec(value)?.[1] : undefined;
  return digits === undefined ? undefined : Number(digits);
}
