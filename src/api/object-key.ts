/**
 * Names of objects as map keys. Two kinds that must not be mixed up: an ObjectKey names an object within one cluster, a
 * ProtectorID names a PodProtector of one of several cores. Both are texts, so they work as keys of a Map and in logs.
 */

declare const objectKeyBrand: unique symbol;
/** "namespace/name", or "name" of a cluster-scoped object. Kubernetes' names hold no slash. */
export type ObjectKey = string & { readonly [objectKeyBrand]: true };

declare const protectorIDBrand: unique symbol;
/** "core/namespace/name". Names of cores hold no slash. */
export type ProtectorID = string & { readonly [protectorIDBrand]: true };

/** An absent or empty namespace means a cluster-scoped object. */
export function objectKey(namespace: string | undefined, name: string): ObjectKey {
  return (namespace === undefined || namespace === "" ? name : `${namespace}/${name}`) as ObjectKey;
}

/** The namespace is "" for a cluster-scoped object. */
export function partsOf(key: ObjectKey): { readonly namespace: string; readonly name: string } {
  const slash = key.indexOf("/");
  return { namespace: key.slice(0, Math.max(0, slash)), name: key.slice(slash + 1) };
}

export function protectorID(core: string, key: ObjectKey): ProtectorID {
  return `${core}/${key}` as ProtectorID;
}
