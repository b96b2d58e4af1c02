/**
 * What a source asks for by the documentation (docs/generator.md#floors), computed from the object as it is stored, and
 * for a budget from the replicas of what it selects. On purpose this shares nothing with the product, whose mistakes it
 * is to find.
 */
import { asArray, asNumber, asObject, type JsonObject, type KubeObject } from "../../../double/engine/object.ts";
import {
  type KindOfSource,
  kindOf,
  ofAdvancedStatefulSets,
  ofBudgets,
  ofDatabases,
  ofDeployments,
  ofRollouts,
} from "./kinds.ts";
import { isOptedOut, overriddenFloor, overriddenSeconds } from "./overridden.ts";
import { labelsOfText, selectorText } from "./selectors.ts";
import { down, mayGo, type Share, shareOf, type SourceRules, up } from "./shares.ts";

/** What its PodProtector must say. Undefined = nobody knows, so what was last in force stays. */
export interface Wanted {
  readonly minAvailable: number | undefined;
  readonly minReadySeconds: number | undefined;
  /** In a form that is the same for all selectors in the same words. */
  readonly selector: string | undefined;
}

/** Of a Rollout, on its pods alone: the hash of their ReplicaSet. */
const hashLabel = "rollouts-pod-template-hash";

/**
 * Undefined = it asks for none, and a PodProtector that it has is to be released. `expected`: of a budget, the replicas
 * of what it selects; undefined = nobody knows.
 */
export function wantedOf(source: KubeObject, rules: SourceRules, expected?: number): Wanted | undefined {
  const { metadata, spec = {} } = source;
  const kind = kindOf(source);
  const replicas = replicasOf(kind, spec, expected);
  const isKeptUntilZero = kind === ofDeployments && rules.protectsNonZero && replicas !== undefined && replicas > 0;
  const isKept = metadata.deletionTimestamp === undefined || isKeptUntilZero;
  if (!isKept || metadata.labels?.["unprotected"] === "yes" || isOptedOut(source)) return undefined;
  const selector = selectorOf(kind, source);
  const minReadySeconds = overriddenSeconds(source) ?? minReadySecondsOf(kind, spec);
  if (replicas === undefined || selector === undefined)
    return { minAvailable: undefined, minReadySeconds: overriddenSeconds(source), selector };
  return { minAvailable: floorWith(source, replicas, rules), minReadySeconds, selector };
}

/** The floor of a source with so many replicas. */
export function floorWith(source: KubeObject, replicas: number, rules: SourceRules): number {
  return overriddenFloor(source, replicas, rules) ?? floorOf(kindOf(source), source.spec ?? {}, replicas, rules);
}

function minReadySecondsOf(kind: KindOfSource | undefined, spec: JsonObject): number {
  if (kind === ofDatabases || kind === ofBudgets) return 0;
  const { rollingUpdate } = asObject(spec["updateStrategy"]);
  const { minReadySeconds } = kind === ofAdvancedStatefulSets ? asObject(rollingUpdate) : spec;
  return Math.max(0, asNumber(minReadySeconds) ?? 0);
}

function selectorOf(kind: KindOfSource | undefined, { kind: name, spec = {}, status }: KubeObject): string | undefined {
  const { selector } = spec;
  if (kind === ofRollouts) return selectorOfRollout(spec, asObject(status));
  if (kind === ofDatabases) {
    const labels = labelsOfText(asObject(status)["selector"]);
    return labels && selectorText({ matchLabels: labels });
  }
  // Labels alone.
  return selectorText(name === "ReplicationController" ? { matchLabels: asObject(selector) } : asObject(selector));
}

/** Of the pods that serve: the active ones, the stable ones, or all. */
function selectorOfRollout(spec: JsonObject, status: JsonObject): string | undefined {
  const { [hashLabel]: activeHash, ...published } = labelsOfText(status["selector"]) ?? {};
  const isPublished = Object.keys(published).length > 0;
  const own = asObject(spec["selector"] ?? (isPublished ? { matchLabels: published } : undefined));
  if (Object.keys(own).length === 0) return undefined;
  const serving = servingOf(spec);
  const hash = serving === "active" ? activeHash : serving === "stable" ? status["stableRS"] : undefined;
  if (typeof hash === "string" && hash !== "")
    return selectorText({ ...own, matchLabels: { ...asObject(own["matchLabels"]), [hashLabel]: hash } });
  if (spec["workloadRef"] === undefined) return selectorText(own);
  // The workload that it refers to may have pods of the same labels.
  const exists = { key: hashLabel, operator: "Exists" };
  return selectorText({ ...own, matchExpressions: [...asArray(own["matchExpressions"]), exists] });
}

function servingOf(spec: JsonObject): "active" | "stable" | "all" {
  const { blueGreen, canary } = asObject(spec["strategy"]);
  if (blueGreen !== undefined) return "active";
  const { trafficRouting, dynamicStableScale } = asObject(canary);
  return trafficRouting !== undefined && dynamicStableScale !== true ? "stable" : "all";
}

function replicasOf(
  kind: KindOfSource | undefined,
  { replicas, members }: JsonObject,
  expected: number | undefined,
): number | undefined {
  if (kind === ofBudgets) return expected;
  const wanted = kind === ofDatabases ? members : replicas;
  if (typeof wanted !== "number") return 1;
  return wanted > 0 ? wanted : 0;
}

/** The less of what the owner's word leaves and of what an update leaves. */
function floorOf(kind: KindOfSource | undefined, spec: JsonObject, replicas: number, rules: SourceRules): number {
  switch (kind?.type.kind) {
    case "Deployment": {
      const { type, rollingUpdate } = asObject(spec["strategy"]);
      return type === "Recreate" ? 0 : ofRollingUpdate(asObject(rollingUpdate), replicas, rules);
    }
    case "StatefulSet":
      return ofStatefulSet(spec, replicas, rules);
    case "CloneSet":
      return ofCloneSet(asObject(spec["updateStrategy"]), replicas, rules);
    case "Rollout":
      return ofRollout(spec, replicas, rules);
    case "PodDisruptionBudget":
      return budgetFloor(spec, replicas);
    default:
      // No field says what may go, and nobody updates its pods.
      return ofQuarter(replicas, rules);
  }
}

function ofQuarter(replicas: number, rules: SourceRules): number {
  return Math.max(0, replicas - mayGo({ percent: 25n }, replicas, rules));
}

/** As the disruption controller has it, and never above the replicas. */
function budgetFloor({ minAvailable, maxUnavailable }: JsonObject, replicas: number): number {
  if (maxUnavailable !== undefined) return Math.max(0, replicas - up(shareOf(maxUnavailable), replicas));
  return minAvailable === undefined ? replicas : Math.min(replicas, up(shareOf(minAvailable), replicas));
}

function ofCloneSet(strategy: JsonObject, replicas: number, rules: SourceRules): number {
  const unavailable = shareOf(strategy["maxUnavailable"] ?? "20%");
  const hasSurge = up(shareOf(strategy["maxSurge"] ?? 0), replicas) > 0;
  const taken = hasSurge ? down(unavailable, replicas) : up(unavailable, replicas);
  return least(replicas, mayGo(unavailable, replicas, rules), taken);
}

function ofRollout(spec: JsonObject, replicas: number, rules: SourceRules): number {
  const { canary } = asObject(spec["strategy"]);
  const { maxUnavailable = "25%" } = asObject(canary);
  switch (servingOf(spec)) {
    case "active":
      return ofQuarter(replicas, rules);
    case "stable":
      return least(replicas, mayGo(shareOf(maxUnavailable), replicas, rules), 0);
    default:
      return ofRollingUpdate(asObject(canary), replicas, rules);
  }
}

function ofStatefulSet(spec: JsonObject, replicas: number, rules: SourceRules): number {
  const { type, rollingUpdate } = asObject(spec["updateStrategy"]);
  const { maxUnavailable } = asObject(rollingUpdate);
  const unavailable = shareOf(maxUnavailable ?? 1);
  const isOnlyOne = replicas === 1 && maxUnavailable === undefined && rules.singleReplica === "protected";
  const lent = isOnlyOne ? 0 : mayGo(unavailable, replicas, rules);
  // People delete the pods.
  if (type === "OnDelete") return least(replicas, lent, 0);
  const taken = down(unavailable, replicas);
  return least(replicas, lent, taken === 0 ? 1 : taken);
}

function ofRollingUpdate(update: JsonObject, replicas: number, rules: SourceRules): number {
  const unavailable = shareOf(update["maxUnavailable"] ?? "25%");
  const surge: Share = shareOf(update["maxSurge"] ?? "25%");
  const isStuck = down(unavailable, replicas) === 0 && up(surge, replicas) === 0;
  return least(replicas, mayGo(unavailable, replicas, rules), isStuck ? 1 : down(unavailable, replicas));
}

/** What is left when either is gone. */
function least(replicas: number, lent: number, taken: number): number {
  return Math.max(0, replicas - Math.max(lent, taken));
}

/** What a PodProtector says. */
export function specOf({ spec = {} }: KubeObject): Wanted {
  return {
    minAvailable: asNumber(spec["minAvailable"]) ?? 0,
    minReadySeconds: asNumber(spec["minReadySeconds"]) ?? 0,
    selector: selectorText(asObject(spec["selector"])),
  };
}

/** Undefined = it says what is wanted, as far as that is known. */
export function differenceOf(wanted: Wanted, found: Wanted): string | undefined {
  const fields = ["minAvailable", "minReadySeconds", "selector"] as const;
  const field = fields.find((one) => wanted[one] !== undefined && wanted[one] !== found[one]);
  return field === undefined ? undefined : `${field} ${found[field]}, not ${wanted[field]}`;
}
