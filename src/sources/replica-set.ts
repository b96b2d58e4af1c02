/**
 * ReplicaSets without a controller: their fields and their floor. Those of Deployments and the like are the business of
 * their owners. Pure.
 */
import * as v from "valibot";
import { selectorField } from "../api/v1alpha1/label-selector.ts";
import { defaultShare, floorFrom } from "./floor.ts";
import { commonFields, replicasOf } from "./read-source.ts";
import { type SourceKind } from "./source.ts";

const schema = v.object({ ...commonFields, selector: selectorField });

export const replicaSets: SourceKind = {
  id: "replicasets.apps",
  resource: { group: "apps", version: "v1", resource: "replicasets" },
  apiVersion: "apps/v1",
  kind: "ReplicaSet",
  prefix: "replicaset-",
  strategyField: undefined,
  floorFields: "spec.replicas",
  lentBy: `the share of ${defaultShare} of every ReplicaSet`,
  isOnlyProtectedAlone: true,
  readSpec(raw) {
    const read = v.safeParse(schema, raw);
    if (!read.success) return undefined;
    const { minReadySeconds, selector } = read.output;
    const replicas = replicasOf(read.output.replicas);
    const facts = { replicas, maxUnavailable: defaultShare, takenByUpdate: 0 };
    return { replicas, minReadySeconds, selector, floorBy: (rule) => floorFrom(facts, rule) };
  },
};
