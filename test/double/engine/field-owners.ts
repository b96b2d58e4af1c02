/**
 * Who owns which fields in managedFields: only the fields below `spec` and the labels, as whole fields, and each
 * annotation, and only of workloads and PodProtectors, whose owners Podseidon reads. A field belongs to whoever changed
 * it last. The subresource scale takes no ownership of 0 replicas (tried on kube-apiserver 1.36: the converted Scale
 * has no field for it).
 */
import { type JsonObject, type KubeObject, asObject, jsonEquals } from "./object.ts";
import { type ResourceType, builtInResources } from "./resources.ts";

/** What a write changed: "f:spec f:replicas", "f:metadata f:labels", "f:metadata f:annotations f:a". */
export function changedFields(
  type: ResourceType,
  before: KubeObject | undefined,
  after: KubeObject,
): ReadonlySet<string> {
  if (!isWorkload(type) && type.resource !== podProtectors) return new Set();
  const [old, now] = [asObject(before?.spec), asObject(after.spec)];
  const keys = [...Object.keys(old), ...Object.keys(now)].filter((key) => !jsonEquals(old[key], now[key]));
  const fields = keys.map((key) => `f:spec f:${key}`);
  if (!jsonEquals(before?.metadata.labels, after.metadata.labels)) fields.push("f:metadata f:labels");
  const [annotations, present] = [before?.metadata.annotations ?? {}, after.metadata.annotations ?? {}];
  const changed = [...Object.keys(annotations), ...Object.keys(present)].filter(
    (key) => annotations[key] !== present[key],
  );
  return new Set([...fields, ...changed.map((key) => `f:metadata f:annotations f:${key}`)]);
}

const podProtectors = "podprotectors";

function isWorkload(type: ResourceType): boolean {
  const { deployments, replicaSets, statefulSets, replicationControllers } = builtInResources;
  return [deployments, replicaSets, statefulSets, replicationControllers].includes(type);
}

/** The names in a fieldsV1. */
export function fieldsIn(fieldsV1: unknown): readonly string[] {
  return Object.entries(asObject(fieldsV1)).flatMap(([name, below]) => {
    const names = fieldsIn(below);
    return names.length === 0 ? [name] : names.map((inner) => `${name} ${inner}`);
  });
}

export function fieldsV1Of(fields: Iterable<string>): JsonObject {
  const root: Record<string, JsonObject> = {};
  for (const field of fields) {
    let level: Record<string, JsonObject> = root;
    for (const name of field.split(" ")) level = (level[name] ??= {}) as Record<string, JsonObject>;
  }
  return root;
}

/** Nobody owns an annotation that was removed. */
export function isRemovedAnnotation(field: string, { metadata }: KubeObject): boolean {
  const [, annotation] = field.split(" f:annotations f:");
  return annotation !== undefined && metadata.annotations?.[annotation] === undefined;
}
