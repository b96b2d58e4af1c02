/**
 * Advanced StatefulSets of OpenKruise, which share kind and plural with the built-in ones: their fields, and how many
 * pods a rolling update and their owners let go. Pure.
 *
 * Partition, paused, unorderedUpdate, podUpdatePolicy and podManagementPolicy say which pods an update changes, when
 * and how, but not how many may be away at once. With `reserveOrdinals` other ordinals are used, and `replicas` goes on
 * being the number of pods. `scaleStrategy` is about pods that come and go when `replicas` changes.
 */
import * as v from "valibot";
import { intOrPercent } from "./floor.ts";
import { commonFields, filledSelectorField, replicasOf } from "./read-source.ts";
import { type SourceKind } from "./source.ts";
import { floorOf } from "./stateful-set.ts";

const schema = v.object({
  replicas: commonFields.replicas,
  selector: filledSelectorField,
  updateStrategy: v.optional(
    v.object({
      type: v.optional(v.string()),
      // There is no minReadySeconds anywhere else.
      rollingUpdate: v.nullish(
        v.object({ maxUnavailable: v.optional(intOrPercent), minReadySeconds: v.optional(v.number()) }),
      ),
    }),
  ),
});

export const advancedStatefulSets: SourceKind = {
  id: "statefulsets.apps.kruise.io",
  resource: { group: "apps.kruise.io", version: "v1beta1", resource: "statefulsets" },
  apiVersion: "apps.kruise.io/v1beta1",
  kind: "StatefulSet",
  prefix: "advancedstatefulset-",
  strategyField: "updateStrategy",
  floorFields: "spec.replicas and spec.updateStrategy.rollingUpdate.maxUnavailable",
  lentBy: "its maxUnavailable (by default 1)",
  isOnlyProtectedAlone: false,
  readSpec(raw) {
    const read = v.safeParse(schema, raw);
    if (!read.success) return undefined;
    const { selector, updateStrategy } = read.output;
    const { maxUnavailable, minReadySeconds = 0 } = updateStrategy?.rollingUpdate ?? {};
    const replicas = replicasOf(read.output.replicas);
    const facts = { replicas, isUpdatedByHand: updateStrategy?.type === "OnDelete", maxUnavailable };
    return { replicas, minReadySeconds, selector, floorBy: (rule) => floorOf(facts, rule) };
  },
};
