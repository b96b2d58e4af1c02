/**
 * Who owns which fields in managedFields: only the fields below `spec` and the labels, as whole fields, and only of
 * workloads, whose owners Podseidon reads. A field belongs to whoever changed it last. The subresource scale takes
 * no ownership of 0 replicas (tried on kube-apiserver 1.36: the converted Scale has no field for it).
 */
import { type JsonObject, type KubeObject, asObject, jsonEquals } from "./object.ts";
import { type ResourceType, builtInResources } from "./resources.ts";

/** Names of the fields that a write changed, as "spec f:replicas" and "metadata f:labels". */
export function changedFields(
  type: ResourceType,
  before: KubeObject | undefined,
  after: KubeObject,
): ReadonlySet<string> {
  if (!isWorkload(type)) return new Set();
  const [old, now] = [asObject(before?.spec), asObject(after.spec)];
  const keys = [...Object.keys(old), ...Object.keys(now)].filter((key) => !jsonEquals(old[key], now[key]));
  const fields = keys.map((key) => `f:spec f:${key}`);
  if (!jsonEquals(before?.metadata.labels, after.metadata.labels)) fields.push("f:metadata f:labels");
  return new Set(fields);
}

function isWorkload(type: ResourceType): boolean {
  const { deployments, replicaSets, statefulSets, replicationControllers } = builtInResources;
  return [deployments, replicaSets, statefulSets, replicationControllers].includes(type);
}

/** The names in a fieldsV1. */
export function fieldsIn(fieldsV1: unknown): readonly string[] {
  return Object.entries(asObject(fieldsV1)).flatMap(([root, fields]) =>
    Object.keys(asObject(fields)).map((field) => `${root} ${field}`),
  );
}

export function fieldsV1Of(fields: Iterable<string>): JsonObject {
  const roots: Record<string, Record<string, JsonObject>> = {};
  for (const field of fields) {
    const [root = "", name = ""] = field.split(" ");
    (roots[root] ??= {})[name] = {};
  }
  return roots;
}
