/** Reads an object of any kind: the metadata that all kinds share, and by its kind the spec. */
import * as v from "valibot";
import { asList, fieldsOf } from "../api/json.ts";
import { requirementFields, selectorFields, stringMap } from "../api/label-schema.ts";
import { parseTime } from "../api/micro-time.ts";
import { objectKey } from "../api/object-key.ts";
import { parseResourceVersion } from "../api/resource-version.ts";
import { type LabelSelector } from "../api/v1alpha1/pod-protector.ts";
import { readFieldWriters } from "./field-writers.ts";
import { overridden, readOverrides } from "./overrides.ts";
import { type SourceKind, type SourceRecord } from "./source.ts";

const schema = v.object({
  metadata: v.object({
    name: v.string(),
    namespace: v.string(),
    uid: v.string(),
    resourceVersion: v.string(),
    deletionTimestamp: v.optional(v.string()),
    labels: v.optional(stringMap, {}),
    annotations: v.optional(v.unknown()),
    finalizers: v.optional(v.array(v.string()), []),
    ownerReferences: v.optional(v.unknown()),
    managedFields: v.optional(v.unknown()),
  }),
  spec: v.unknown(),
});

/** The fields that every spec has. */
export const commonFields = {
  replicas: v.optional(v.number()),
  minReadySeconds: v.optional(v.number(), 0),
};

/** `spec.selector` of kinds that have a LabelSelector. The schema leaves out unknown fields. */
export const selectorField = v.pipe(
  v.object(selectorFields(v.object(requirementFields))),
  v.transform((selector) => selector as LabelSelector),
);

/** Replicas as controllers take them: absent means one. */
export function replicasOf(replicas: number | undefined): number {
  return Math.max(0, replicas ?? 1);
}

/** Undefined when it is invalid. Never throws. */
export function readSource(kind: SourceKind, raw: unknown): SourceRecord | undefined {
  const result = v.safeParse(schema, raw);
  if (!result.success) return undefined;
  const { metadata } = result.output;
  const resourceVersion = parseResourceVersion(metadata.resourceVersion);
  const spec = kind.readSpec(result.output.spec);
  if (resourceVersion === undefined || spec === undefined) return undefined;
  const overrides = readOverrides(metadata.annotations);
  const owners = asList(metadata.ownerReferences).map(fieldsOf);
  const controller = owners.find((owner) => owner["controller"] === true);
  const { apiVersion, kind: ownerKind } = controller ?? owners[0] ?? {};
  return {
    kind,
    key: objectKey(metadata.namespace, metadata.name),
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion,
    labels: metadata.labels,
    finalizers: metadata.finalizers,
    isTerminating: metadata.deletionTimestamp !== undefined,
    deletedAt: parseTime(metadata.deletionTimestamp),
    owner:
      typeof apiVersion === "string" && typeof ownerKind === "string" ? { apiVersion, kind: ownerKind } : undefined,
    isControlled: controller !== undefined,
    writers: readFieldWriters(metadata.managedFields, kind.strategyField),
    overrides,
    spec: overridden(spec, overrides),
  };
}
