/**
 * Rollouts of Argo: their fields, which of their pods count, and how many of these may go. Pure.
 *
 * A Rollout keeps two ReplicaSets during an update, and what is not stable must not stand in for what is:
 * - blue-green: the active ReplicaSet stays complete until the other is, and then the Service moves. Only the active
 *   one counts. Its hash is in `status.selector`, which Argo publishes for autoscalers, if that ReplicaSet exists.
 * - canary with traffic routing: the stable ReplicaSet stays complete until the canary is promoted. Only the stable one
 *   counts, by `status.stableRS`. With `dynamicStableScale` it shrinks while the canary grows, so both count.
 * - any other canary: one ReplicaSet shrinks while the other grows, as with a Deployment, so both count.
 * `paused` and the steps say when pods go, but not how many may be away at once.
 */
import * as v from "valibot";
import { isFilled, selectorField } from "../api/v1alpha1/label-selector.ts";
import { asObject } from "../api/json.ts";
import { type LabelSelector } from "../api/v1alpha1/pod-protector.ts";
import { labelValueProblem } from "../config/types/kubernetes-names.ts";
import { parseLabelSelector } from "../config/types/label-selector.ts";
import { defaultShare, type FloorFacts, floorFrom, intOrPercent, takenByRollingUpdate } from "./floor.ts";
import { commonFields, replicasOf } from "./read-source.ts";
import { type SourceKind } from "./source.ts";

/** On every pod of a Rollout, and on no other: the hash of its ReplicaSet. */
const hashLabel = "rollouts-pod-template-hash";

const schema = v.object({
  ...commonFields,
  // With workloadRef it may be left out. Older releases of Argo write null then.
  selector: v.nullish(selectorField),
  workloadRef: v.nullish(v.looseObject({})),
  strategy: v.optional(
    v.object({
      blueGreen: v.nullish(v.looseObject({})),
      canary: v.nullish(
        v.object({
          maxUnavailable: v.optional(intOrPercent),
          maxSurge: v.optional(intOrPercent),
          trafficRouting: v.nullish(v.looseObject({})),
          dynamicStableScale: v.optional(v.boolean(), false),
        }),
      ),
    }),
    {},
  ),
});
type Spec = v.InferOutput<typeof schema>;

/** Which pods serve. */
type Serving = "active" | "stable" | "all";

export const rollouts: SourceKind = {
  id: "rollouts.argoproj.io",
  resource: { group: "argoproj.io", version: "v1alpha1", resource: "rollouts" },
  apiVersion: "argoproj.io/v1alpha1",
  kind: "Rollout",
  prefix: "rollout-",
  strategyField: "strategy",
  floorFields: "spec.replicas and spec.strategy.canary.maxUnavailable",
  lentBy: `its maxUnavailable, or the share of ${defaultShare} of every blue-green Rollout`,
  isOnlyProtectedAlone: false,
  readSpec(raw, status) {
    const read = v.safeParse(schema, raw);
    if (!read.success) return undefined;
    const { minReadySeconds } = read.output;
    const serving = servingOf(read.output);
    const selector = selectorOf(read.output, serving, asObject(status) ?? {});
    if (selector === undefined) return undefined;
    const facts = factsOf(read.output, serving);
    return { replicas: facts.replicas, minReadySeconds, selector, floorBy: (rule) => floorFrom(facts, rule) };
  },
};

function servingOf({ strategy: { blueGreen, canary } }: Spec): Serving {
  if (blueGreen) return "active";
  return canary?.trafficRouting && !canary.dynamicStableScale ? "stable" : "all";
}

function factsOf(spec: Spec, serving: Serving): FloorFacts {
  const replicas = replicasOf(spec.replicas);
  // Argo's default of both.
  const { maxUnavailable = defaultShare, maxSurge = defaultShare } = spec.strategy.canary ?? {};
  // There is no such field. Its update takes none of the pods that count.
  if (serving === "active") return { replicas, maxUnavailable: defaultShare, takenByUpdate: 0 };
  if (serving === "stable") return { replicas, maxUnavailable, takenByUpdate: 0 };
  // Rounded as by Deployments (replicaset utils, resolveFenceposts).
  return { replicas, maxUnavailable, takenByUpdate: takenByRollingUpdate({ replicas, maxUnavailable, maxSurge }) };
}

/** Of the pods that serve; undefined when nothing says yet which pods are its own. */
function selectorOf(
  spec: Spec,
  serving: Serving,
  status: Readonly<Record<string, unknown>>,
): LabelSelector | undefined {
  const published = publishedSelector(status["selector"]);
  const own = spec.selector && isFilled(spec.selector) ? spec.selector : published?.selector;
  if (own === undefined) return undefined;
  const { matchLabels, matchExpressions = [] } = own;
  const hash = serving === "active" ? published?.hash : serving === "stable" ? hashOf(status["stableRS"]) : undefined;
  if (hash !== undefined) return { ...own, matchLabels: { ...matchLabels, [hashLabel]: hash } };
  if (!spec.workloadRef) return own;
  // The workload that it refers to may still run, and its pods have the same labels otherwise.
  return { ...own, matchExpressions: [...matchExpressions, { key: hashLabel, operator: "Exists" }] };
}

interface Published {
  /** Without the hash. */
  readonly selector: LabelSelector | undefined;
  readonly hash: string | undefined;
}

/** `status.selector`: the selector of the Rollout or of what it refers to, and the hash of the active ReplicaSet. */
function publishedSelector(text: unknown): Published | undefined {
  const parsed = typeof text === "string" ? parseLabelSelector(text) : undefined;
  if (parsed?.ok !== true) return undefined;
  const { matchExpressions = [] } = parsed.value;
  const others = matchExpressions.filter(({ key }) => key !== hashLabel);
  const [hash] = matchExpressions.find(({ key, operator }) => key === hashLabel && operator === "In")?.values ?? [];
  return { selector: others.length > 0 ? { matchExpressions: others } : undefined, hash: hashOf(hash) };
}

function hashOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" && labelValueProblem(value) === undefined ? value : undefined;
}
