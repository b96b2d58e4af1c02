/** What owners of sources, and the controllers of custom ones, write into them: all at random. */
import { overrides } from "../../../src/api/v1alpha1/names.ts";
import { type JsonObject } from "../../double/engine/object.ts";
import { type Draws } from "../../support/draws.ts";
import {
  type KindOfSource,
  ofAdvancedStatefulSets,
  ofBudgets,
  ofCloneSets,
  ofDatabases,
  ofDeployments,
  ofRollouts,
} from "../checkers/sources/kinds.ts";

const replicasMax = 12;

/** The spec of a new source of that name. */
export function drawSpec(kind: KindOfSource, name: string, draws: Draws): JsonObject {
  const labels = { app: name };
  if (kind === ofBudgets) return { ...drawLimit(draws), selector: drawSelection(name, draws) };
  if (kind === ofDatabases) return { members: draws.whole(0, replicasMax) };
  return {
    replicas: draws.whole(0, replicasMax),
    ...(draws.chance(0.5) ? { minReadySeconds: draws.whole(1, 10) } : {}),
    selector: kind.type.kind === "ReplicationController" ? labels : { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "web:1" }] } },
  };
}

/** A merge patch of the spec. */
export function drawEdit(kind: KindOfSource, replicas: number, draws: Draws): JsonObject {
  if (kind === ofBudgets) return { minAvailable: null, maxUnavailable: null, ...drawLimit(draws) };
  if (kind === ofDatabases) return { members: replicas };
  const share = drawShare(draws);
  const surge = draws.oneOf<unknown>(0, 1, "0%", "25%");
  const draw = draws.between(0, 1);
  if (draw < 0.35) return { replicas };
  const isAboutReadiness = draw >= 0.8 && draw < 0.95;
  if (kind === ofAdvancedStatefulSets && isAboutReadiness)
    return { updateStrategy: { rollingUpdate: { minReadySeconds: draws.whole(0, 10) } } };
  if (isAboutReadiness) return { minReadySeconds: draws.whole(0, 10) };
  if (kind.type.kind === "StatefulSet") return { updateStrategy: drawUpdateStrategy(share, draws) };
  if (kind === ofCloneSets) return { updateStrategy: drawUnavailable(share, surge, draws) };
  if (kind === ofRollouts) return drawStrategyOfRollout(share, surge, draws);
  if (kind !== ofDeployments) return { replicas };
  if (draw < 0.8)
    return { strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: share, maxSurge: surge } } };
  return { strategy: { type: "Recreate", rollingUpdate: null } };
}

/** To so many replicas; undefined = it has none. */
export function scaledTo(kind: KindOfSource, replicas: number): JsonObject | undefined {
  if (kind === ofBudgets) return undefined;
  return kind === ofDatabases ? { members: replicas } : { replicas };
}

/** What the controller of a custom source writes into its status; undefined = nothing that matters. */
export function drawStatus(kind: KindOfSource, name: string, draws: Draws): JsonObject | undefined {
  if (kind === ofDatabases) return { selector: draws.chance(0.9) ? `app=${name}` : null };
  if (kind !== ofRollouts) return undefined;
  const [active, stable] = [drawHash(draws), drawHash(draws)];
  return {
    selector: draws.chance(0.8) ? `app=${name},rollouts-pod-template-hash=${active}` : `app=${name}`,
    stableRS: draws.chance(0.8) ? stable : null,
  };
}

/** Annotations that override what is derived, some of which nobody can read; null = that one goes. */
export function drawOverrides(draws: Draws): JsonObject {
  const pods = draws.oneOf<string | null>("0", "2", "7", "40", "0%", "29%", "50%", "100%", "120%", "some", null, null);
  return draws.weighted<JsonObject>([
    [4, () => ({ [overrides.minAvailable]: pods, [overrides.maxUnavailable]: null })],
    [4, () => ({ [overrides.minAvailable]: null, [overrides.maxUnavailable]: pods })],
    [1, () => ({ [overrides.minAvailable]: "1", [overrides.maxUnavailable]: "1" })],
    [2, () => ({ [overrides.minReadySeconds]: draws.oneOf<string | null>("0", "3", "-1", null) })],
    [2, () => ({ [overrides.protect]: draws.oneOf<string | null>("true", "false", "no", null) })],
    [3, () => Object.fromEntries(Object.values(overrides).map((one) => [one, null]))],
  ]);
}

/** Whom a budget, or a hand-made PodProtector, selects: pods of one name, of several, or all. */
export function drawSelection(name: string, draws: Draws): JsonObject {
  const several = { matchExpressions: [{ key: "app", operator: "In", values: ["web", "one"] }] };
  return draws.weighted<JsonObject>([
    [6, () => ({ matchLabels: { app: name } })],
    [2, () => several],
    [1, () => ({})],
  ]);
}

function drawShare(draws: Draws): unknown {
  return draws.oneOf<unknown>(0, 1, 2, "0%", "10%", "25%", "29%", "50%", "100%");
}

/** Of a budget. */
function drawLimit(draws: Draws): JsonObject {
  const share = drawShare(draws);
  return draws.weighted<JsonObject>([
    [5, () => ({ minAvailable: share })],
    [5, () => ({ maxUnavailable: share })],
    [1, () => ({})],
  ]);
}

/** Of a StatefulSet. */
function drawUpdateStrategy(maxUnavailable: unknown, draws: Draws): JsonObject {
  if (draws.chance(0.25)) return { type: "OnDelete", rollingUpdate: null };
  const rollingUpdate = { maxUnavailable: draws.chance(0.3) ? null : maxUnavailable, partition: draws.whole(0, 3) };
  return { type: "RollingUpdate", rollingUpdate };
}

function drawUnavailable(share: unknown, surge: unknown, draws: Draws): JsonObject {
  return { maxUnavailable: draws.chance(0.2) ? null : share, maxSurge: draws.chance(0.3) ? null : surge };
}

function drawStrategyOfRollout(share: unknown, surge: unknown, draws: Draws): JsonObject {
  const workloadRef = draws.chance(0.2) ? { apiVersion: "apps/v1", kind: "Deployment", name: "other" } : null;
  if (draws.chance(0.3)) return { workloadRef, strategy: { blueGreen: { activeService: "active" }, canary: null } };
  const trafficRouting = draws.chance(0.5) ? { nginx: { stableIngress: "stable" } } : null;
  const canary = { ...drawUnavailable(share, surge, draws), trafficRouting, dynamicStableScale: draws.chance(0.3) };
  return { workloadRef, strategy: { blueGreen: null, canary } };
}

function drawHash(draws: Draws): string {
  return `h${draws.whole(1, 5)}`;
}
