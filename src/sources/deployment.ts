/** Deployments: their fields, and how many pods a rolling update and their owners let go. Pure. */
import * as v from "valibot";
import { selectorField } from "../api/v1alpha1/label-selector.ts";
import {
  defaultShare,
  type Floor,
  floorFrom,
  type FloorRule,
  intOrPercent,
  type IntOrPercent,
  takenByRollingUpdate,
} from "./floor.ts";
import { commonFields, replicasOf } from "./read-source.ts";
import { type SourceKind } from "./source.ts";

interface Facts {
  readonly replicas: number;
  readonly isRecreated: boolean;
  readonly maxUnavailable: IntOrPercent;
  readonly maxSurge: IntOrPercent;
}

const schema = v.object({
  ...commonFields,
  selector: selectorField,
  strategy: v.optional(
    v.object({
      type: v.optional(v.string()),
      rollingUpdate: v.nullish(
        v.object({ maxUnavailable: v.optional(intOrPercent), maxSurge: v.optional(intOrPercent) }),
      ),
    }),
  ),
});

export const deployments: SourceKind = {
  id: "deployments.apps",
  resource: { group: "apps", version: "v1", resource: "deployments" },
  apiVersion: "apps/v1",
  kind: "Deployment",
  prefix: "deployment-",
  strategyField: "strategy",
  floorFields: "spec.replicas and spec.strategy.rollingUpdate.maxUnavailable",
  lentBy: "its maxUnavailable",
  isOnlyProtectedAlone: false,
  readSpec(raw) {
    const read = v.safeParse(schema, raw);
    if (!read.success) return undefined;
    const { minReadySeconds, selector, strategy } = read.output;
    // Kubernetes' default of both.
    const { maxUnavailable = defaultShare, maxSurge = defaultShare } = strategy?.rollingUpdate ?? {};
    const replicas = replicasOf(read.output.replicas);
    const facts = { replicas, isRecreated: strategy?.type === "Recreate", maxUnavailable, maxSurge };
    return { replicas, minReadySeconds, selector, floorBy: (rule) => floorOf(facts, rule) };
  },
};

function floorOf(facts: Facts, rule: FloorRule): Floor {
  const { replicas, isRecreated, maxUnavailable } = facts;
  if (!isRecreated) return floorFrom({ replicas, maxUnavailable, takenByUpdate: takenByRollingUpdate(facts) }, rule);
  const state = replicas > 0 ? ({ kind: "unprotected", reason: "Recreate" } as const) : { kind: "drainable" as const };
  return { minAvailable: 0, replicas, ...state };
}
