/**
 * CloneSets of OpenKruise: their fields, and how many pods an update and their owners let go. Pure.
 *
 * The partition says how many pods stay at the former revision, `type` whether an update deletes pods or restarts their
 * containers in place: neither says how many may be away at once. `scaleStrategy` is about pods that come
 * (maxUnavailable) or names those that go first (podsToDelete). The controller makes up for the latter, `replicas`
 * stays, so they go one after the other as any other deletion above the floor.
 */
import * as v from "valibot";
import { type Floor, floorFrom, type FloorRule, intOrPercent, type IntOrPercent, podsOf } from "./floor.ts";
import { commonFields, filledSelectorField, replicasOf } from "./read-source.ts";
import { type SourceKind } from "./source.ts";

interface Facts {
  readonly replicas: number;
  readonly maxUnavailable: IntOrPercent;
  readonly maxSurge: IntOrPercent;
}

const schema = v.object({
  ...commonFields,
  selector: filledSelectorField,
  updateStrategy: v.optional(
    v.object({ maxUnavailable: v.optional(intOrPercent), maxSurge: v.optional(intOrPercent) }),
    {},
  ),
});

/** OpenKruise's defaults (CloneSetUpdateStrategy). */
const defaultMaxUnavailable = "20%";
const defaultMaxSurge = 0;

export const cloneSets: SourceKind = {
  id: "clonesets.apps.kruise.io",
  resource: { group: "apps.kruise.io", version: "v1alpha1", resource: "clonesets" },
  apiVersion: "apps.kruise.io/v1alpha1",
  kind: "CloneSet",
  prefix: "cloneset-",
  strategyField: "updateStrategy",
  floorFields: "spec.replicas and spec.updateStrategy.maxUnavailable",
  lentBy: `its maxUnavailable (by default ${defaultMaxUnavailable})`,
  isOnlyProtectedAlone: false,
  readSpec(raw) {
    const read = v.safeParse(schema, raw);
    if (!read.success) return undefined;
    const { minReadySeconds, selector, updateStrategy } = read.output;
    const { maxUnavailable = defaultMaxUnavailable, maxSurge = defaultMaxSurge } = updateStrategy;
    const replicas = replicasOf(read.output.replicas);
    return {
      replicas,
      minReadySeconds,
      selector,
      floorBy: (rule) => floorOf({ replicas, maxUnavailable, maxSurge }, rule),
    };
  },
};

/**
 * The controller rounds up without surge pods, and down with them (cloneset sync, calculateDiffsWithExpectation). One
 * that is paused counts no surge, and so may round up; but it updates nothing then, and the floor need not move.
 */
function floorOf({ replicas, maxUnavailable, maxSurge }: Facts, rule: FloorRule): Floor {
  const hasSurge = podsOf(maxSurge, replicas, Math.ceil) > 0;
  const takenByUpdate = podsOf(maxUnavailable, replicas, hasSurge ? Math.floor : Math.ceil);
  return floorFrom({ replicas, maxUnavailable, takenByUpdate }, rule);
}
