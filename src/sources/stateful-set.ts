/**
 * StatefulSets: their fields, and how many pods a rolling update and their owners let go. Pure.
 *
 * The partition says which pods an update changes, and podManagementPolicy in which order pods are made and go when the
 * number of replicas changes. Neither says how many may be away at once, so the floor is the same with all of them.
 */
import * as v from "valibot";
import { selectorField } from "../api/v1alpha1/label-selector.ts";
import { type Floor, floorFrom, type FloorRule, intOrPercent, type IntOrPercent, podsOf } from "./floor.ts";
import { commonFields, replicasOf } from "./read-source.ts";
import { type SourceKind } from "./source.ts";

export interface StatefulSetFacts {
  readonly replicas: number;
  readonly isUpdatedByHand: boolean;
  readonly maxUnavailable: IntOrPercent | undefined;
}

const schema = v.object({
  ...commonFields,
  selector: selectorField,
  updateStrategy: v.optional(
    v.object({
      type: v.optional(v.string()),
      rollingUpdate: v.nullish(v.object({ maxUnavailable: v.optional(intOrPercent) })),
    }),
  ),
});

/**
 * Kubernetes' default, and OpenKruise's (RollingUpdateStatefulSetStrategy). API servers that do not know the field work
 * by it too.
 */
const defaultMaxUnavailable = 1;

export const statefulSets: SourceKind = {
  id: "statefulsets.apps",
  resource: { group: "apps", version: "v1", resource: "statefulsets" },
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  prefix: "statefulset-",
  strategyField: "updateStrategy",
  floorFields: "spec.replicas and spec.updateStrategy.rollingUpdate.maxUnavailable",
  lentBy: "its maxUnavailable (by default 1)",
  isOnlyProtectedAlone: false,
  readSpec(raw) {
    const read = v.safeParse(schema, raw);
    if (!read.success) return undefined;
    const { minReadySeconds, selector, updateStrategy } = read.output;
    const replicas = replicasOf(read.output.replicas);
    const isUpdatedByHand = updateStrategy?.type === "OnDelete";
    const facts = { replicas, isUpdatedByHand, maxUnavailable: updateStrategy?.rollingUpdate?.maxUnavailable };
    return { replicas, minReadySeconds, selector, floorBy: (rule) => floorOf(facts, rule) };
  },
};

/** Also of an Advanced StatefulSet, whose controller and default are the same in this. */
export function floorOf(facts: StatefulSetFacts, rule: FloorRule): Floor {
  const { replicas, isUpdatedByHand, maxUnavailable: given } = facts;
  const maxUnavailable = given ?? defaultMaxUnavailable;
  // The controllers round down, and take at least one (stateful set utils, getStatefulSetMaxUnavailable; of OpenKruise
  // rollingUpdateStatefulsetPods).
  const takenByUpdate = isUpdatedByHand ? 0 : Math.max(1, podsOf(maxUnavailable, replicas, Math.floor));
  return floorFrom({ replicas, maxUnavailable, isByDefault: given === undefined, takenByUpdate }, rule);
}
