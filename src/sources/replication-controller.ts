/** ReplicationControllers without a controller of their own: their fields and their floor. Pure. */
import * as v from "valibot";
import { stringMap } from "../api/v1alpha1/label-selector.ts";
import { defaultShare, floorFrom } from "./floor.ts";
import { commonFields, replicasOf } from "./read-source.ts";
import { type SourceKind } from "./source.ts";

const schema = v.object({ ...commonFields, selector: stringMap });

export const replicationControllers: SourceKind = {
  id: "replicationcontrollers",
  resource: { group: "", version: "v1", resource: "replicationcontrollers" },
  apiVersion: "v1",
  kind: "ReplicationController",
  prefix: "replicationcontroller-",
  strategyField: undefined,
  floorFields: "spec.replicas",
  lentBy: `the share of ${defaultShare} of every ReplicationController`,
  isOnlyProtectedAlone: true,
  readSpec(raw) {
    const read = v.safeParse(schema, raw);
    if (!read.success) return undefined;
    const { minReadySeconds, selector: matchLabels } = read.output;
    const replicas = replicasOf(read.output.replicas);
    const facts = { replicas, maxUnavailable: defaultShare, takenByUpdate: 0 };
    return { replicas, minReadySeconds, selector: { matchLabels }, floorBy: (rule) => floorFrom(facts, rule) };
  },
};
