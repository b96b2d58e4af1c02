/**
 * In which namespaces deletions are admitted on the last known quota while a core takes no writes: as the flag says, or
 * a label on the namespace in the core, which takes precedence (docs/webhook.md#core-unavailable).
 */
import { objectKey } from "../../api/object-key.ts";
import * as v from "valibot";
import { stringMap } from "../../api/v1alpha1/label-selector.ts";
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
 * Whether deletions in a namespace of a core may be admitted on the last known quota. A namespace without the label, or
 * with a value that is no policy, has the policy of the flag. Until namespaces are listed all count as "refuse": an
 * unread label could say so. `flags` and `namespaces`: by core; undefined where labels do not apply.
 */
export function lastKnownAllowedBy(
  flags: ReadonlyMap<string, CorePolicy>,
  namespaces: ReadonlyMap<string, Pick<Informer<NamespacePolicy>, "get" | "hasSynced"> | undefined>,
): (core: string, namespace: string) => boolean {
  return (core, name) => {
    const labelled = namespaces.get(core);
    if (labelled?.hasSynced() === false) return false;
    return (labelled?.get(objectKey(undefined, name))?.policy ?? flags.get(core)) === "last-known";
  };
}
