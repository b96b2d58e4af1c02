/**
 * How many pods of a Deployment must stay (docs/generator.md#floors). Pure.
 *
 * A rolling update lives on surge pods, which a drain does not have: with maxUnavailable rounded down, as Kubernetes'
 * own controller does, the default 25 % of one to three replicas is no pod, and no drain would ever end. So a
 * percentage above zero lets at least one pod go, and a number is taken at its word. The floor is never above what a
 * rolling update leaves (deployment util, ResolveFenceposts), or it would stop the update for ever.
 */
import { type DeploymentFacts, type IntOrPercent } from "../api/deployment.ts";
import { type Config } from "../config/config.ts";
import { assertNever } from "../util/assert.ts";

/** How percentages become pods, under the names that the settings have in the Config. */
export type FloorRule = Pick<Config["generator"], "percentRounding" | "singleReplica">;

export type Floor = {
  /** From 0 to `replicas`. */
  readonly minAvailable: number;
  readonly replicas: number;
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
  | "SingleReplica";
export type UnprotectedReason =
  /** The only replica, which any rounding up takes. */
  | "SingleReplica"
  | "MaxUnavailableCoversReplicas"
  /** The strategy takes all pods away by intent. */
  | "Recreate";

/** Kubernetes' default of both fields. */
const defaultShare = "25%";
const drainable = { kind: "drainable" } as const;

export function floorOf(deployment: DeploymentFacts, rule: FloorRule): Floor {
  const replicas = Math.max(0, deployment.replicas ?? 1);
  if (deployment.strategy === "Recreate")
    return { minAvailable: 0, replicas, ...(replicas > 0 ? { kind: "unprotected", reason: "Recreate" } : drainable) };
  const maxUnavailable = deployment.maxUnavailable ?? defaultShare;
  const mayGo = Math.max(takenByUpdate(deployment, replicas), lentBy(maxUnavailable, replicas, rule));
  const minAvailable = Math.max(0, replicas - mayGo);
  const share = percentOf(maxUnavailable) ?? 0;
  if (replicas === 0 || (minAvailable > 0 && minAvailable < replicas)) return { minAvailable, replicas, ...drainable };
  if (minAvailable === 0) {
    const isRounded = replicas === 1 && share > 0 && share < 100;
    const reason = isRounded ? "SingleReplica" : "MaxUnavailableCoversReplicas";
    return { minAvailable, replicas, kind: "unprotected", reason };
  }
  return { minAvailable, replicas, kind: "undrainable", reason: undrainableReason(share, replicas, rule) };
}

function undrainableReason(share: number, replicas: number, rule: FloorRule): UndrainableReason {
  if (share === 0) return "MaxUnavailableZero";
  return replicas === 1 && rule.singleReplica === "protected" ? "SingleReplica" : "RoundedDownToZero";
}

/** Pods that a rolling update takes at once: if both fields come to 0, it takes one. */
function takenByUpdate({ maxUnavailable, maxSurge }: DeploymentFacts, replicas: number): number {
  const unavailable = resolve(maxUnavailable ?? defaultShare, replicas, Math.floor);
  const surge = resolve(maxSurge ?? defaultShare, replicas, Math.ceil);
  return unavailable === 0 && surge === 0 ? 1 : unavailable;
}

/** Pods that may go by `maxUnavailable` alone. */
function lentBy(maxUnavailable: IntOrPercent, replicas: number, rule: FloorRule): number {
  const percent = percentOf(maxUnavailable);
  if (percent === undefined || percent === 0) return resolve(maxUnavailable, replicas, Math.floor);
  // 100 % is the owner's word that all pods may go, and no matter of rounding.
  if (replicas === 1 && percent < 100 && rule.singleReplica === "protected") return 0;
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
 * A value that is neither a number nor a percentage counts as 0: the API server does not accept it, and 0 protects
 * most.
 */
function resolve(value: IntOrPercent, replicas: number, round: (value: number) => number): number {
  if (typeof value === "number") return Math.max(0, value);
  // Multiplied before divided: 0.29 * 100 is 28.999999999999996.
  return round(((percentOf(value) ?? 0) * replicas) / 100);
}

function percentOf(value: IntOrPercent): number | undefined {
  const digits = typeof value === "string" ? /^(\d{1,9})%$/.exec(value)?.[1] : undefined;
  return digits === undefined ? undefined : Number(digits);
}
