/** Reads an object of any kind: the metadata that all kinds share, and by its kind the spec. */
import * as v from "valibot";
import { asList, fieldsOf } from "../api/json.ts";
import { stringMap, isFilled, selectorField } from "../api/v1alpha1/label-selector.ts";
import { parseTime } from "../api/micro-time.ts";
import { objectKey } from "../api/object-key.ts";
import { parseResourceVersion } from "../api/resource-version.ts";
import { readFieldWriters } from "../api/field-writers.ts";
import { overridden, readOverrides } from "./overrides.ts";
import { type SourceHead, type SourceKind, type SourceRecord } from "./source.ts";

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
});

/** The fields that every spec has. */
export const commonFields = {
  replicas: v.optional(v.number()),
  minReadySeconds: v.optional(v.number(), 0),
};

/**
 * `spec.selector` of custom resources, where it may be empty: nothing but their controllers checks them, and these
 * refuse it. A PodProtector of it would count all pods of the namespace.
 */
export const filledSelectorField = v.pipe(
  selectorField,
  v.check((selector) => isFilled(selector), "a selector that selects everything is not valid"),
);

/** Replicas as controllers take them: absent means one. */
export function replicasOf(replicas: number | undefined): number {
  return Math.max(0, replicas ?? 1);
}

/** Undefined when it is invalid. Never throws. */
export function readSource(kind: SourceKind, raw: unknown): SourceRecord | undefined {
  const head = readSourceHead(kind, raw);
  if (head === undefined) return undefined;
  const { spec: rawSpec, status } = fieldsOf(raw);
  const spec = kind.readSpec(rawSpec, status);
  return spec && { ...head, spec: overridden(spec, head.overrides) };
}

/** All but the spec. Undefined when it is invalid. Never throws. */
export function readSourceHead(kind: SourceKind, raw: unknown): SourceHead | undefined {
  const result = v.safeParse(schema, raw);
  if (!result.success) return undefined;
  const { metadata } = result.output;
  const resourceVersion = parseResourceVersion(metadata.resourceVersion);
  if (resourceVersion === undefined) return undefined;
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
    overrides: readOverrides(metadata.annotations),
  };
}
