/**
 * Which namespaces may be judged by the last known quota while a core takes no writes: the flag's word, or that of a
 * label on the namespace in the core.
 */
import { objectKey } from "../../api/object-key.ts";
import * as v from "valibot";
import { stringMap } from "../../api/label-schema.ts";
import { parseResourceVersion } from "../../api/resource-version.ts";
import { labels } from "../../api/v1alpha1/names.ts";
import { type Informer, type Stored } from "../../kube/informer.ts";

const corePolicies = ["refuse", "last-known"] as const;
type CorePolicy = (typeof corePolicies)[number];

/** A namespace with the label; `policy` is undefined when its value is no policy. */
export interface NamespacePolicy extends Stored {
  readonly policy: CorePolicy | undefined;
}

const namespace = v.object({
  metadata: v.object({
    name: v.string(),
    uid: v.string(),
    resourceVersion: v.string(),
    labels: v.optional(stringMap, {}),
  }),
});

/** Undefined for what is no namespace. Never throws. */
export function decodeNamespacePolicy(raw: unknown): NamespacePolicy | undefined {
  const result = v.safeParse(namespace, raw);
  if (!result.success) return undefined;
  const { name, uid, resourceVersion: version, labels: own } = result.output.metadata;
  const resourceVersion = parseResourceVersion(version);
  if (resourceVersion === undefined) return undefined;
  const value = Object.hasOwn(own, labels.coreUnavailablePolicy) ? own[labels.coreUnavailablePolicy] : undefined;
  return {
    key: objectKey(undefined, name),
    uid,
    resourceVersion,
    policy: corePolicies.find((policy) => policy === value),
  };
}

/**
 * Whether the last known quota may be lent in a namespace of a core. A namespace without the label, or with a value
 * that is no policy, has the policy of the flag; while the labels have not been read, one may say "refuse", and nothing
 * is lent. `namespaces`: by core; undefined where no labels are looked at.
 */
export function lendsBy(
  flag: CorePolicy,
  namespaces: ReadonlyMap<string, Pick<Informer<NamespacePolicy>, "get" | "hasSynced"> | undefined>,
): (core: string, namespace: string) => boolean {
  return (core, name) => {
    const labelled = namespaces.get(core);
    if (labelled?.hasSynced() === false) return false;
    return (labelled?.get(name)?.policy ?? flag) === "last-known";
  };
}
