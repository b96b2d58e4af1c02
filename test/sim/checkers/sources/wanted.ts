/**
 * What a source asks for by the documentation (docs/generator.md#floors), computed from the object as it is stored.
 * On purpose this shares nothing with the product, whose mistakes it is to find.
 */
import { asArray, asObject, asString, type JsonObject, type KubeObject } from "../../../double/engine/object.ts";

/** The flags of a world's generators. */
export interface SourceRules {
  readonly percentRounding: string;
  readonly singleReplica: string;
  /** A terminating Deployment keeps its PodProtector while it wants replicas. No other kind does. */
  readonly protectsNonZero: boolean;
}

/** What its PodProtector must say. */
export interface Wanted {
  readonly minAvailable: number;
  readonly minReadySeconds: number;
  /** In a form that is the same for all selectors in the same words. */
  readonly selector: string;
}

/** Of how many pods in a hundred, or how many pods; what is neither counts as no pod. */
type Share = { readonly percent: bigint } | { readonly pods: number };

/** Undefined = it asks for none, and a PodProtector that it has is to be released. */
export function wantedOf(source: KubeObject, rules: SourceRules): Wanted | undefined {
  const { kind, metadata, spec = {} } = source;
  const replicas = replicasOf(spec);
  const isKeptUntilZero = kind === "Deployment" && rules.protectsNonZero && replicas > 0;
  const isKept = metadata.deletionTimestamp === undefined || isKeptUntilZero;
  if (!isKept || metadata.labels?.["unprotected"] === "yes") return undefined;
  const { minReadySeconds } = spec;
  return {
    minAvailable: floorOf(kind, spec, replicas, rules),
    minReadySeconds: typeof minReadySeconds === "number" && minReadySeconds > 0 ? minReadySeconds : 0,
    selector: selectorText(selectorOf(kind, spec)),
  };
}

/** Of a ReplicationController it is labels alone. */
function selectorOf(kind: string, { selector }: JsonObject): JsonObject {
  return kind === "ReplicationController" ? { matchLabels: asObject(selector) } : asObject(selector);
}

function replicasOf({ replicas }: JsonObject): number {
  if (typeof replicas !== "number") return 1;
  return replicas > 0 ? replicas : 0;
}

/** The less of what the owner's word leaves and of what an update leaves. */
function floorOf(kind: string, spec: JsonObject, replicas: number, rules: SourceRules): number {
  switch (kind) {
    case "Deployment":
      return ofDeployment(spec, replicas, rules);
    case "StatefulSet":
      return ofStatefulSet(spec, replicas, rules);
    default:
      // No field says what may go, and nobody updates its pods.
      return Math.max(0, replicas - mayGo({ percent: 25n }, replicas, rules));
  }
}

function ofStatefulSet(spec: JsonObject, replicas: number, rules: SourceRules): number {
  const { type, rollingUpdate } = asObject(spec["updateStrategy"]);
  const { maxUnavailable } = asObject(rollingUpdate);
  const unavailable = shareOf(maxUnavailable ?? 1);
  const isOnlyOne = replicas === 1 && maxUnavailable === undefined && rules.singleReplica === "protected";
  const leftByOwner = replicas - (isOnlyOne ? 0 : mayGo(unavailable, replicas, rules));
  // People delete the pods.
  if (type === "OnDelete") return Math.max(0, leftByOwner);
  const taken = down(unavailable, replicas);
  return Math.max(0, Math.min(leftByOwner, replicas - (taken === 0 ? 1 : taken)));
}

function ofDeployment(spec: JsonObject, replicas: number, rules: SourceRules): number {
  const strategy = asObject(spec["strategy"]);
  if (strategy["type"] === "Recreate") return 0;
  const { maxUnavailable = "25%", maxSurge = "25%" } = asObject(strategy["rollingUpdate"]);
  const unavailable = shareOf(maxUnavailable);
  const surge = shareOf(maxSurge);
  const isStuck = down(unavailable, replicas) === 0 && up(surge, replicas) === 0;
  const leftByUpdate = replicas - (isStuck ? 1 : down(unavailable, replicas));
  const leftByOwner = replicas - mayGo(unavailable, replicas, rules);
  return Math.max(0, Math.min(leftByUpdate, leftByOwner));
}

function mayGo(share: Share, replicas: number, { percentRounding, singleReplica }: SourceRules): number {
  if ("pods" in share) return share.pods;
  if (share.percent === 0n) return 0;
  if (replicas === 1 && singleReplica === "protected") return share.percent < 100n ? 0 : 1;
  const rounded = percentRounding === "up" ? up(share, replicas) : down(share, replicas);
  return percentRounding === "at-least-one" && rounded === 0 ? 1 : rounded;
}

function shareOf(value: unknown): Share {
  if (typeof value === "number") return { pods: value > 0 ? value : 0 };
  const text = asString(value) ?? "";
  const isPercentage = /^[0-9]+%$/.test(text);
  return isPercentage ? { percent: BigInt(text.slice(0, -1)) } : { pods: 0 };
}

/** Whole numbers only, so that nothing is lost in fractions. */
function down(share: Share, replicas: number): number {
  if ("pods" in share) return share.pods;
  return Number((share.percent * BigInt(replicas)) / 100n);
}

function up(share: Share, replicas: number): number {
  if ("pods" in share) return share.pods;
  return Number((share.percent * BigInt(replicas) + 99n) / 100n);
}

/** Labels are requirements for one value; order and repetition mean nothing. */
export function selectorText(selector: JsonObject): string {
  const labels = Object.entries(asObject(selector["matchLabels"])).map(([key, value]) => [key, "In", [value]]);
  const expressions = asArray(selector["matchExpressions"]).map((item) => {
    const { key, operator, values } = asObject(item);
    return [key, operator, [...new Set(asArray(values).map(String))].sort()];
  });
  const texts = [...labels, ...expressions].map((requirement) => JSON.stringify(requirement));
  return [...new Set(texts)].sort().join(" ");
}
