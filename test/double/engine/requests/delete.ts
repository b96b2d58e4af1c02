/**
 * Deletion as the generic registry of the real server does it. The order matters to anyone who reasons about admitted
 * deletions: preconditions, then a review of the object at version V, then a commit that requires exactly V; when the
 * object changed in between, all of it starts again. A zero-grace deletion of a live pod is two such steps, mark and
 * remove, hence two reviews.
 */
import { later, type MonotonicMs } from "../../../../src/util/clock.ts";
import { type Caller, reviewOptions } from "../admission.ts";
import { formatSeconds } from "../metadata.ts";
import {
  type JsonObject,
  type KubeObject,
  asArray,
  asNumber,
  asObject,
  asString,
  objectKey,
  withFields,
  withMetadata,
} from "../object.ts";
import { builtInResources } from "../resources.ts";
import { type ApiError, type Status, conflict, forbidden, isApiError, notFound, success } from "../status.ts";
import { type Target, type WriteContext, commit, remove, requestOver } from "./write.ts";

export interface DeleteRequest {
  readonly caller: Caller;
  readonly dryRun: boolean;
  /** Takes the warnings of the webhooks. */
  readonly warn: (text: string) => void;
  /** meta/v1 DeleteOptions, as far as sent. */
  readonly options: JsonObject;
  /** Undefined = no admission: the second half of an eviction. */
  readonly reviewName: string | undefined;
  /** By the engine's clock: nothing is begun from then on; undefined = the request is never over. */
  readonly overAtMs?: MonotonicMs;
}

export interface DeleteResult {
  /** False when the object was only marked and waits for its grace period or finalizers. */
  readonly gone: boolean;
  readonly object: KubeObject;
}

/** kube-apiserver's --request-timeout, which ends a deletecollection; watches alone go on. */
const requestTimeoutMs = 60_000;
/** The last review is given whole milliseconds, so that it may end that much before the request. */
const roundingMs = 1;

// A pod that is changed faster than it can be reviewed would keep us here for ever; the real server ends with its
// request timeout.
const attemptsMax = 100;

/** Refuses an object other than the one that `options.preconditions` name. Throws 409. */
export function checkPreconditions(target: Target, object: KubeObject, options: JsonObject): void {
  const { uid, resourceVersion } = asObject(options["preconditions"]);
  const { metadata } = object;
  const refuse = (what: string, wanted: unknown, found: string, happened: string): ApiError => {
    const why =
      `the ${what} in the precondition (${String(wanted)}) does not match the ${what} in record ` +
      `(${found}). The object might have been ${happened}`;
    // Here the server names the kind where it usually names the resource.
    return conflict({ ...target.type, resource: target.type.kind }, metadata.name, why);
  };
  if (asString(uid) !== undefined && uid !== metadata.uid) {
    throw refuse("UID", uid, metadata.uid, "deleted and then recreated");
  }
  if (asString(resourceVersion) !== undefined && resourceVersion !== metadata.resourceVersion) {
    throw refuse("ResourceVersion", resourceVersion, metadata.resourceVersion, "modified");
  }
}

/** What a deletion means for an object in its present state. */
type Plan =
  | { readonly kind: "pending" } // already being deleted, and not sooner by this request
  | { readonly kind: "held" } // being deleted without grace, and held by finalizers
  | { readonly kind: "mark"; readonly marked: KubeObject; readonly thenRemove: boolean }
  | { readonly kind: "remove" };

function graceOf(pod: KubeObject, options: JsonObject): number {
  const phase = asString(pod.status?.["phase"]);
  const scheduled = (asString(pod.spec?.["nodeName"]) ?? "") !== "";
  if (!scheduled || phase === "Failed" || phase === "Succeeded") return 0;
  const asked = asNumber(options["gracePeriodSeconds"]) ?? asNumber(pod.spec?.["terminationGracePeriodSeconds"]) ?? 0;
  return asked < 0 ? 1 : asked;
}

const permanentNamespaces = ["default", "kube-system", "kube-public"];

const garbageFinalizers = { Orphan: "orphan", Foreground: "foregroundDeletion" } as const;

/** The finalizers by which the server hands an orphaning or foreground deletion to the garbage collector. */
function finalizersFor(object: KubeObject, options: JsonObject): readonly string[] {
  const existing = object.metadata.finalizers ?? [];
  const policy =
    asString(options["propagationPolicy"]) ?? (options["orphanDependents"] === true ? "Orphan" : undefined);
  if (policy === undefined && options["orphanDependents"] !== false) return existing;
  const kept = existing.filter((name) => !(Object.values(garbageFinalizers) as string[]).includes(name));
  return policy === "Orphan" || policy === "Foreground" ? [...kept, garbageFinalizers[policy]] : kept;
}

function shiftSeconds(timestamp: string, seconds: number): string {
  return formatSeconds((Date.parse(timestamp) + seconds * 1000) * 1000);
}

function planPod(context: WriteContext, pod: KubeObject, options: JsonObject, finalizers: readonly string[]): Plan {
  const { deletionTimestamp, deletionGracePeriodSeconds: pending, generation } = pod.metadata;
  if (deletionTimestamp !== undefined) {
    // Held by finalizers only: the real server reviews once more, and changes nothing.
    if ((pending ?? 0) === 0) return finalizers.length > 0 ? { kind: "held" } : { kind: "remove" };
    const asked = asNumber(options["gracePeriodSeconds"]);
    if (asked === undefined || asked >= pending!) return { kind: "pending" };
    const marked = withMetadata(pod, {
      deletionTimestamp: shiftSeconds(deletionTimestamp, asked - pending!),
      deletionGracePeriodSeconds: asked,
    });
    return { kind: "mark", marked, thenRemove: asked === 0 && finalizers.length === 0 };
  }
  const graceSeconds = graceOf(pod, options);
  const marked = withMetadata(pod, {
    deletionTimestamp: formatSeconds(context.clock.epochMicros() + graceSeconds * 1_000_000),
    deletionGracePeriodSeconds: graceSeconds,
    generation: generation === undefined ? undefined : generation + 1,
    finalizers: finalizers.length === 0 ? undefined : finalizers,
  });
  return { kind: "mark", marked, thenRemove: graceSeconds === 0 && finalizers.length === 0 };
}

function plan(context: WriteContext, target: Target, object: KubeObject, options: JsonObject): Plan {
  const finalizers = finalizersFor(object, options);
  if (target.type === builtInResources.pods) return planPod(context, object, options, finalizers);
  // A namespace waits for its own controller, which empties it.
  const isNamespace = target.type === builtInResources.namespaces;
  if (isNamespace && permanentNamespaces.includes(target.name)) {
    throw forbidden(target.type, target.name, "this namespace may not be deleted");
  }
  const held = isNamespace && asArray(object.spec?.["finalizers"]).length > 0;
  if (finalizers.length === 0 && !held) return { kind: "remove" };
  const { deletionTimestamp, generation } = object.metadata;
  if (deletionTimestamp !== undefined && finalizers.length === (object.metadata.finalizers ?? []).length) {
    return { kind: "pending" };
  }
  const marked = withMetadata(object, {
    deletionTimestamp: deletionTimestamp ?? formatSeconds(context.clock.epochMicros()),
    deletionGracePeriodSeconds: held ? undefined : 0,
    generation: generation === undefined ? undefined : generation + 1,
    finalizers: finalizers.length === 0 ? undefined : finalizers,
  });
  const terminating = held ? withFields(marked, { status: { ...marked.status, phase: "Terminating" } }) : marked;
  return { kind: "mark", marked: terminating, thenRemove: false };
}

async function review(
  context: WriteContext,
  target: Target,
  object: KubeObject,
  request: DeleteRequest,
  options: JsonObject,
): Promise<void> {
  if (request.reviewName === undefined) return;
  await context.admission.validate({
    operation: "DELETE",
    type: target.type,
    namespace: target.namespace,
    name: request.reviewName,
    oldObject: object,
    caller: request.caller,
    dryRun: request.dryRun,
    warn: request.warn,
    options: reviewOptions("DeleteOptions", options, request.dryRun),
    overAtMs: request.overAtMs,
  });
}

/** Throws 504 when the time of the request is over. */
function checkTime({ clock }: WriteContext, { overAtMs }: Pick<DeleteRequest, "overAtMs">): void {
  if (overAtMs !== undefined && overAtMs - clock.monotonicMs() < roundingMs) throw requestOver();
}

/** The options as the pod strategy leaves them: with the grace period that it has decided on. */
function withGrace(target: Target, options: JsonObject, todo: Plan): JsonObject {
  if (target.type !== builtInResources.pods || todo.kind !== "mark") return options;
  return { ...options, gracePeriodSeconds: todo.marked.metadata.deletionGracePeriodSeconds };
}

/**
 * Deletes one object. Throws 404, 409 (preconditions), and what admission says. Deleting an object that is already
 * being deleted succeeds without a review. After `request.overAtMs` it throws 504, and only what the storage has been
 * asked for by then is still carried out and waited for.
 */
export async function deleteObject(
  context: WriteContext,
  target: Target,
  request: DeleteRequest,
): Promise<DeleteResult> {
  const { type, namespace, name } = target;
  const key = objectKey(namespace, name);
  let options = request.options;
  let marked: KubeObject | undefined;
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    checkTime(context, request);
    const present = context.store.get(type, key);
    const object = attempt === 0 && present !== undefined ? (context.cachedState?.(type, key) ?? present) : present;
    if (object === undefined) {
      // Once we have marked it, somebody else may have finished the job.
      if (marked === undefined) throw notFound(type, name);
      return { gone: true, object: marked };
    }
    checkPreconditions(target, object, options);
    const todo = plan(context, target, object, options);
    if (todo.kind === "pending") return { gone: false, object };
    // The reviews of a deletecollection show the options as the client sent them.
    if (request.reviewName !== "") options = withGrace(target, options, todo);
    try {
      await review(context, target, object, request, options);
    } catch (error) {
      checkTime(context, request);
      // What was refused on an old state is judged again on the present one.
      if (object === present) throw error;
      continue;
    }
    checkTime(context, request);
    const goesOn = (await context.beforeCommit?.(type, key)) ?? true;
    if (context.store.get(type, key) !== object) {
      if (goesOn) continue;
      throw requestOver();
    }
    if (todo.kind === "held") return { gone: false, object };
    if (todo.kind === "remove") return { gone: true, object: remove(context, type, object, request.dryRun) };
    marked = commit(context, type, todo.marked, request.dryRun);
    if (!todo.thenRemove || request.dryRun) return { gone: todo.thenRemove, object: marked };
    options = afterOwnMark(options, marked);
  }
  throw conflict(type, name);
}

/** The options for what comes after our own mark, which moved the version that a precondition may name. */
export function afterOwnMark(options: JsonObject, marked: KubeObject): JsonObject {
  const preconditions = asObject(options["preconditions"]);
  if (preconditions["resourceVersion"] === undefined) return options;
  return { ...options, preconditions: { ...preconditions, resourceVersion: marked.metadata.resourceVersion } };
}

/** What the server answers to a DELETE: the object while it lingers or where the resource returns it, else a Status. */
export function deleteAnswer(target: Target, result: DeleteResult): KubeObject | Status {
  const { type } = target;
  if (!result.gone || type.returnsDeleted) return result.object;
  return success({
    name: target.name,
    ...(type.group === "" ? {} : { group: type.group }),
    kind: type.resource,
    uid: result.object.metadata.uid,
  });
}

/**
 * Deletes `objects` one after the other as deletecollection does: reviewed item by item without a name, ended by the
 * first refusal, or with 504 by the request timeout. What has been deleted so far stays so.
 */
export async function deleteObjects(
  context: WriteContext,
  targets: readonly Target[],
  request: Omit<DeleteRequest, "overAtMs" | "reviewName">,
): Promise<void> {
  const overAtMs = later(context.clock.monotonicMs(), requestTimeoutMs);
  for (const target of targets) {
    try {
      await deleteObject(context, target, { ...request, reviewName: "", overAtMs });
    } catch (error) {
      if (!isApiError(error, "NotFound")) throw error;
    }
    checkTime(context, { overAtMs });
  }
}
