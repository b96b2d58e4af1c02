/**
 * From the controller of a pod up to the outermost ancestor that can be scaled: what sets the number of pods in the
 * end. KEP-981 asks the direct controller alone, which gets Argo Rollouts and the like wrong. An owner that cannot be
 * scaled is passed through when its own controller can.
 */
import { type Discovery, type MappingAnswer, type KindMapping } from "./discovery.ts";
import { type ControllerRef, type OwnerAnswer, type OwnerObject, type OwnerObjects } from "./owner-objects.ts";

/** As many as the proposal for Kubernetes itself has (KEP-6358). Real chains have two or three. */
const depthMax = 10;

export interface ScalableOwner {
  readonly mapping: KindMapping;
  readonly object: OwnerObject;
}

export type ChainAnswer =
  | { readonly kind: "found"; readonly owner: ScalableOwner }
  /** No owner can be scaled, and why. */
  | { readonly kind: "none"; readonly text: string }
  /** The references lead nowhere: a kind is not served, or there is no end of them. */
  | { readonly kind: "broken"; readonly text: string }
  /** The outermost one, or the outermost scalable one, was deleted, and takes its pods along; `mapping`: its kind. */
  | { readonly kind: "ended"; readonly mapping: KindMapping }
  /** One is gone, or another object has its name. It may be the disaster, or a local copy that lags. */
  | { readonly kind: "missing"; readonly text: string }
  /** A right is missing: nobody knows until somebody gives it. */
  | { readonly kind: "forbidden"; readonly text: string }
  | { readonly kind: "notNow"; readonly text: string };

export interface ChainOptions {
  readonly discovery: Discovery;
  readonly objects: OwnerObjects;
}

/**
 * Where an owner above cannot be read, or is gone, the one below is no answer: it may have another number of pods, and
 * whatever erased the owner is no reason for a lower floor.
 */
export async function outermostScalable(
  first: ControllerRef,
  namespace: string,
  { discovery, objects }: ChainOptions,
): Promise<ChainAnswer> {
  let found: ScalableOwner | undefined;
  let text = "";
  /** What is gone of them. Its last state leads on, if only to an owner that was deleted. */
  let gone: string | undefined;
  let ended: KindMapping | undefined;
  const seen = new Set<string>();
  let next: ControllerRef | undefined = first;
  while (next !== undefined) {
    const one: ControllerRef = next;
    const { apiVersion, kind, name, uid } = one;
    const what: string = `${kind} ${name}`;
    if (seen.has(uid)) return { kind: "broken", text: `${what} is its own ancestor` };
    if (seen.size >= depthMax)
      return { kind: "broken", text: `there are more than ${depthMax} owners above each other` };
    seen.add(uid);
    const mapped = await mappingOf(apiVersion, kind, discovery);
    if (mapped.kind === "notNow") return { kind: "notNow", text: mapped.error.message };
    if (mapped.kind === "unserved") return { kind: "broken", text: `${what} is of ${apiVersion}, which is not served` };
    const answer: OwnerAnswer = await objects.read(mapped.mapping, namespace, name);
    if (answer.kind === "unlisted")
      return { kind: answer.isForbidden ? "forbidden" : "notNow", text: `${what}: ${answer.text}` };
    // The reference may be about an object that is gone.
    const isOther: boolean = answer.kind === "present" && answer.object.uid !== uid;
    if (isOther || answer.kind === "missing") gone ??= `${what} is gone${isOther ? ", another one has its name" : ""}`;
    const object: OwnerObject | undefined = answer.kind === "present" && !isOther ? answer.object : objects.former(uid);
    if (object === undefined) break;
    ended = object.isEnding ? mapped.mapping : undefined;
    if (mapped.mapping.hasScale) found = { mapping: mapped.mapping, object };
    else text = `${what} has no subresource scale`;
    next = object.controller;
  }
  // Nothing scalable is above it, so nobody sets another number of its pods.
  if (found?.object.isEnding === true) ended ??= found.mapping;
  if (ended !== undefined && next === undefined) return { kind: "ended", mapping: ended };
  if (gone !== undefined) return { kind: "missing", text: gone };
  return found === undefined ? { kind: "none", text } : { kind: "found", owner: found };
}

/** Kinds whose replicas are in spec.replicas, so that neither discovery nor a scale has to be read. */
const builtIn: Readonly<Record<string, { readonly group: string; readonly plural: string }>> = {
  "apps/v1 Deployment": { group: "apps", plural: "deployments" },
  "apps/v1 ReplicaSet": { group: "apps", plural: "replicasets" },
  "apps/v1 StatefulSet": { group: "apps", plural: "statefulsets" },
  "v1 ReplicationController": { group: "", plural: "replicationcontrollers" },
};

/** Where objects of a kind are, whatever people wrote as that. */
export async function mappingOf(apiVersion: string, kind: string, discovery: Discovery): Promise<MappingAnswer> {
  return builtInMapping(apiVersion, kind) ?? (await discovery.ofKind(apiVersion, kind));
}

function builtInMapping(
  apiVersion: string,
  kind: string,
): { readonly kind: "found"; readonly mapping: KindMapping } | undefined {
  const known = Object.hasOwn(builtIn, `${apiVersion} ${kind}`) ? builtIn[`${apiVersion} ${kind}`] : undefined;
  if (known === undefined) return undefined;
  const resource = { group: known.group, version: "v1", resource: known.plural };
  return { kind: "found", mapping: { resource, kind, isNamespaced: true, hasScale: true } };
}

/** Whether an owner of that kind tells its replicas without its scale. */
export function isBuiltIn({ resource, kind }: KindMapping): boolean {
  const apiVersion = resource.group === "" ? resource.version : `${resource.group}/${resource.version}`;
  return builtInMapping(apiVersion, kind) !== undefined;
}
