/** Objects that an uninstall takes away, or its finalizer off, and how they are found. */
import { asList, fieldsOf, type Json } from "../../api/json.ts";
import { isKubeError, type KubeClient, type Resource, resourcePath } from "../../kube/kube-client.ts";
import { type Clock } from "../../util/clock.ts";
import { type Access, listed, reading } from "../clusters/reading.ts";

/** The cluster that is cleared. */
export interface Site {
  readonly client: KubeClient;
  /** For messages. */
  readonly cluster: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Of Podseidon, podseidon-system in the manifests. */
  readonly namespace: string;
}

export interface Kind {
  readonly kind: string;
  readonly resource: Resource;
}

export interface Target extends Kind {
  /** Undefined = cluster-scoped. */
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly finalizers: readonly string[];
  readonly isTerminating: boolean;
}

/** Why something could not be read or changed, in one line. */
export interface Obstacle {
  /** Asking again will not help: a right is missing, or a policy refuses. */
  readonly isFinal: boolean;
  readonly problem: string;
}

export interface Found {
  readonly targets: readonly Target[];
  readonly obstacles: readonly Obstacle[];
  /** What stays on purpose, in one line each. */
  readonly kept?: readonly string[];
}

const manager = { role: "cluster-admin" };
/** Pages of workloads have a few MiB. */
const pageSize = 250;

function targetOf({ kind, resource }: Kind, raw: unknown): Target {
  const { namespace, name, uid, resourceVersion, finalizers, deletionTimestamp } = fieldsOf(fieldsOf(raw)["metadata"]);
  return {
    kind,
    resource,
    namespace: typeof namespace === "string" ? namespace : undefined,
    name: String(name),
    uid: String(uid),
    resourceVersion: String(resourceVersion),
    finalizers: asList(finalizers).map(String),
    isTerminating: deletionTimestamp !== undefined,
  };
}

/** `shop/web`, or `podseidon` of what is cluster-scoped. */
export function nameOf({ namespace, name }: Pick<Target, "namespace" | "name">): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** Where to look; undefined = everywhere. */
export interface Place {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** Those that `isOurs` of a kind. A kind that is not served has none. Rejects only for programmer errors. */
export async function find(site: Site, kind: Kind, isOurs: (raw: Json) => boolean, place: Place = {}): Promise<Found> {
  const { client, cluster, signal } = site;
  const { resource } = kind;
  const access: Access = { cluster, verb: "list", resource, namespace: place.namespace, ...manager };
  const decode = (raw: unknown): Target | undefined => (isOurs(fieldsOf(raw)) ? targetOf(kind, raw) : undefined);
  const read = await reading(access, () => listed(client, { resource, ...place }, decode, { signal, pageSize }));
  if (read.ok) return { targets: read.value, obstacles: [] };
  if (read.error.kind === "notFound") return { targets: [], obstacles: [] };
  // What a page before a failed one showed is looked at again with it.
  return { targets: [], obstacles: [obstacleOf(read)] };
}

/** All that several searches found, in their order. */
export function together(found: readonly Found[]): Found {
  return {
    targets: found.flatMap(({ targets }) => targets),
    obstacles: found.flatMap(({ obstacles }) => obstacles),
    kept: found.flatMap(({ kept = [] }) => kept),
  };
}

/** Asks for the deletion of just that object. Undefined = done, or it was gone. */
export function remove(site: Site, target: Target): Promise<Obstacle | undefined> {
  const body = { apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid: target.uid } };
  return change(site, target, "DELETE", { body });
}

/** Takes `finalizer` off. It holds for this version alone: the list is replaced as a whole. */
export function removeFinalizer(site: Site, target: Target, finalizer: string): Promise<Obstacle | undefined> {
  const { uid, resourceVersion } = target;
  const finalizers = target.finalizers.filter((one) => one !== finalizer);
  const body = { metadata: { uid, resourceVersion, finalizers } };
  return change(site, target, "PATCH", { body, contentType: "application/merge-patch+json" });
}

async function change(
  { client, cluster, signal }: Site,
  target: Target,
  method: "DELETE" | "PATCH",
  content: { readonly body: unknown; readonly contentType?: "application/merge-patch+json" },
): Promise<Obstacle | undefined> {
  const { resource, namespace, name } = target;
  const verb = method === "DELETE" ? "delete" : "patch";
  const at = { name, ...(namespace !== undefined && { namespace }) };
  const sent = await reading({ cluster, verb, resource, ...at, ...manager }, () =>
    client.request({ method, path: resourcePath(resource, at), ...content, signal }),
  );
  return sent.ok || sent.error.kind === "notFound" ? undefined : obstacleOf(sent);
}

function obstacleOf({ error, problem }: { readonly error: unknown; readonly problem: string }): Obstacle {
  return { isFinal: isKubeError(error, "forbidden", "unauthorized", "invalid", "aborted"), problem };
}
