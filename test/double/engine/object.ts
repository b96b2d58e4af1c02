/**
 * Kubernetes objects as the double keeps them: plain JSON, deeply frozen once stored, so that the store, its history
 * and every watcher share one copy, and so that the text of an object is made once.
 */

export type JsonObject = { readonly [key: string]: unknown };

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface Metadata {
  readonly name: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
  readonly managedFields?: readonly JsonObject[];
}

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Metadata;
  readonly spec?: JsonObject;
  readonly status?: JsonObject;
  readonly [key: string]: unknown;
}

const emptyObject: JsonObject = Object.freeze({});

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value when it is a JSON object, else an empty one: for reading through absent fields. */
export function asObject(value: unknown): JsonObject {
  return isObject(value) ? value : emptyObject;
}

/** The value when it is an array, else an empty one. */
export function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function asString(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export function asNumber(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

/** Freezes `value` and everything below it. Stops at what is frozen already: that is shared with an earlier version. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const child of Object.values(value)) deepFreeze(child);
  return Object.freeze(value);
}

/** Without the keys whose value is undefined, as JSON has it. */
function withoutUndefined<T extends object>(value: T): T {
  if (!Object.values(value).includes(undefined)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}

/** The object with some metadata replaced; undefined removes a field. */
export function withMetadata(
  object: KubeObject,
  changes: { readonly [Key in keyof Metadata]?: Metadata[Key] | undefined },
): KubeObject {
  return { ...object, metadata: withoutUndefined({ ...object.metadata, ...changes }) as Metadata };
}

/** The object with top-level fields replaced; undefined removes a field. */
export function withFields(object: KubeObject, changes: JsonObject): KubeObject {
  return withoutUndefined({ ...object, ...changes });
}

/** Structural equality of JSON values; the order of keys does not matter. */
export function jsonEquals(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => jsonEquals(item, b[index]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => key in b && jsonEquals(a[key], b[key]));
}

/** The key of an object below its resource: `namespace/name`, or `name` when cluster-scoped. */
export function objectKey(namespace: string | undefined, name: string): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

const textOfObject = new WeakMap<object, string>();

/** JSON text of a frozen object, made once for all watchers and lists. */
export function objectText(object: KubeObject): string {
  let text = textOfObject.get(object);
  if (text === undefined) {
    text = JSON.stringify(object);
    if (Object.isFrozen(object)) textOfObject.set(object, text);
  }
  return text;
}
