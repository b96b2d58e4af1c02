/**
 * What Podseidon reads of a Deployment: the fields that its PodProtector depends on, without the pod template, and who
 * changed them.
 */
import { type EpochMicros } from "../util/clock.ts";
import { type FieldWriters, readFieldWriters } from "./field-writers.ts";
import { asList, fieldsOf } from "./json.ts";
import { parseTime } from "./micro-time.ts";
import { type ObjectKey, objectKey } from "./object-key.ts";
import * as v from "valibot";
import { parseResourceVersion, type ResourceVersion } from "./resource-version.ts";
import { requirementFields, selectorFields, stringMap } from "./label-schema.ts";
import { type LabelSelector } from "./v1alpha1/pod-protector.ts";

/** An absolute number, or a percentage such as "25%". */
export type IntOrPercent = number | string;

export interface DeploymentFacts {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly replicas: number | undefined;
  readonly minReadySeconds: number;
  readonly selector: LabelSelector;
  readonly strategy: "RollingUpdate" | "Recreate";
  readonly maxUnavailable: IntOrPercent | undefined;
  readonly maxSurge: IntOrPercent | undefined;
}

/** The kind of the object that a workload belongs to. */
export interface OwnerKind {
  readonly apiVersion: string;
  readonly kind: string;
}

export interface DeploymentRecord {
  /** namespace/name. */
  readonly key: ObjectKey;
  readonly uid: string;
  readonly resourceVersion: ResourceVersion;
  readonly facts: DeploymentFacts;
  readonly labels: Readonly<Record<string, string>>;
  readonly finalizers: readonly string[];
  readonly isTerminating: boolean;
  /** The deletionTimestamp. */
  readonly deletedAt: EpochMicros | undefined;
  /** Of its controlling owner, else of the first. */
  readonly owner: OwnerKind | undefined;
  readonly writers: FieldWriters;
}

const intOrPercent = v.optional(v.union([v.number(), v.string()]));
const deployment = v.object({
  metadata: v.object({
    name: v.string(),
    namespace: v.string(),
    uid: v.string(),
    resourceVersion: v.string(),
    deletionTimestamp: v.optional(v.string()),
    labels: v.optional(stringMap, {}),
    finalizers: v.optional(v.array(v.string()), []),
    ownerReferences: v.optional(v.unknown()),
    managedFields: v.optional(v.unknown()),
  }),
  spec: v.object({
    replicas: v.optional(v.number()),
    minReadySeconds: v.optional(v.number(), 0),
    selector: v.object(selectorFields(v.object(requirementFields))),
    strategy: v.optional(
      v.object({
        type: v.optional(v.string()),
        rollingUpdate: v.nullish(v.object({ maxUnavailable: intOrPercent, maxSurge: intOrPercent })),
      }),
    ),
  }),
});

/** Reads an apps/v1 Deployment; undefined when it is invalid. Never throws. */
export function readDeployment(raw: unknown): DeploymentRecord | undefined {
  const result = v.safeParse(deployment, raw);
  if (!result.success) return undefined;
  const { metadata, spec } = result.output;
  const resourceVersion = parseResourceVersion(metadata.resourceVersion);
  if (resourceVersion === undefined) return undefined;
  return {
    key: objectKey(metadata.namespace, metadata.name),
    uid: metadata.uid,
    resourceVersion,
    labels: metadata.labels,
    finalizers: metadata.finalizers,
    isTerminating: metadata.deletionTimestamp !== undefined,
    deletedAt: parseTime(metadata.deletionTimestamp),
    owner: ownerKindOf(metadata.ownerReferences),
    writers: readFieldWriters(metadata.managedFields),
    facts: {
      name: metadata.name,
      namespace: metadata.namespace,
      uid: metadata.uid,
      replicas: spec.replicas,
      minReadySeconds: spec.minReadySeconds,
      // The schema leaves out unknown fields, and what it keeps is a LabelSelector.
      selector: spec.selector as DeploymentFacts["selector"],
      strategy: spec.strategy?.type === "Recreate" ? "Recreate" : "RollingUpdate",
      maxUnavailable: spec.strategy?.rollingUpdate?.maxUnavailable,
      maxSurge: spec.strategy?.rollingUpdate?.maxSurge,
    },
  };
}

function ownerKindOf(ownerReferences: unknown): OwnerKind | undefined {
  const owners = asList(ownerReferences).map(fieldsOf);
  const { apiVersion, kind } = owners.find(({ controller }) => controller === true) ?? owners[0] ?? {};
  return typeof apiVersion === "string" && typeof kind === "string" ? { apiVersion, kind } : undefined;
}
