// length: the comments were wrapped at 120 columns; the file is split along its ideas next.
/**
 * Create, update and patch. Each is: read, compute, ask admission, and commit only when the object is still the one
 * that was read.
 */
import { type Admission, type Caller, reviewOptions } from "./admission.ts";
import { type Clock } from "../../../src/util/clock.ts";
import { type Rng } from "../../../src/util/rng.ts";
import { type CustomSchema } from "./crd-schema.ts";
import { randomNameSuffix, randomUuid } from "./identity.ts";
import {
  decodeObject,
  nextGeneration,
  nowSeconds,
  stampManager,
  unreadableMetadata,
  updatedMetadata,
  validateMetadata,
} from "./metadata.ts";
import {
  type JsonObject,
  type KubeObject,
  asObject,
  asString,
  deepFreeze,
  jsonEquals,
  objectKey,
  withMetadata,
} from "./object.ts";
import { type Patch, applyClientPatch } from "./patch.ts";
import { type ResourceType, builtInResources, groupResource } from "./resources.ts";
import {
  ApiError,
  type FieldError,
  alreadyExists,
  badRequest,
  conflict,
  forbidden,
  invalid,
  notFound,
  plainError,
} from "./status.ts";
import { type Store } from "./store.ts";
import { applyDefaults, initialStatus, mainUpdate, statusUpdate, unreadableTime, validateBuiltIn } from "./strategy.ts";

/** What every write needs; made once per cluster. */
export interface WriteContext {
  readonly store: Store;
  readonly admission: Admission;
  readonly clock: Clock;
  readonly rng: Rng;
  /** The schema of a custom resource; undefined = anything goes. */
  schemaOf(type: ResourceType): CustomSchema | undefined;
  /**
   * Awaited between admission and the storage's transaction, which may hang in a sick etcd. False = the request is over
   * by then: the transaction is still tried at the version that was reviewed, but nothing is done again when that
   * fails.
   */
  readonly beforeCommit?: ((type: ResourceType, key: string) => Promise<boolean>) | undefined;
  /**
   * What the first attempt of a deletion takes for the present object: an older state out of the watch cache; undefined
   * = the present one.
   */
  readonly cachedState?: ((type: ResourceType, key: string) => KubeObject | undefined) | undefined;
  /** Changes every object on its way into the storage, its last state too. */
  readonly stampWrites?: ((type: ResourceType, object: KubeObject) => KubeObject) | undefined;
  /** Called after every commit that may end the life of a terminating CRD or change the set of resources. */
  onCommitted(type: ResourceType, object: KubeObject, deleted: boolean): void;
}

/** The object that a request names. */
export interface Target {
  readonly type: ResourceType;
  /** Undefined for cluster-scoped objects. */
  readonly namespace: string | undefined;
  readonly name: string;
}

export interface WriteOptions {
  readonly caller: Caller;
  readonly dryRun: boolean;
  /** Name in managedFields. */
  readonly fieldManager: string;
  /**
   * What happens to fields that the schema of a custom resource does not know: they are dropped, or the write is
   * refused.
   */
  readonly fieldValidation: FieldValidation;
  /** Takes what the caller is to be told besides the answer. */
  readonly warn: (text: string) => void;
}

export type FieldValidation = "Ignore" | "Strict" | "Warn";

// The server gives up after the same number of lost races.
const racesMax = 5;

/** Takes the commit out of dry runs: the object as it would be, without a new version. */
export function commit(context: WriteContext, type: ResourceType, object: KubeObject, dryRun: boolean): KubeObject {
  if (dryRun) return deepFreeze(object);
  const { namespace, name } = object.metadata;
  const stamped = context.stampWrites?.(type, object) ?? object;
  const stored = context.store.put(type, objectKey(namespace, name), stamped);
  context.onCommitted(type, stored, false);
  return stored;
}

export function remove(context: WriteContext, type: ResourceType, object: KubeObject, dryRun: boolean): KubeObject {
  if (dryRun) return object;
  const { namespace, name } = object.metadata;
  const removed = context.store.remove(
    type,
    objectKey(namespace, name),
    (last) => context.stampWrites?.(type, last) ?? last,
  );
  context.onCommitted(type, removed, true);
  return removed;
}

/** The answer to a request whose time was over before its write was done. */
export function requestOver(): ApiError {
  return new ApiError(504, "Timeout", "Timeout: request did not complete within requested timeout");
}

/** The current state of the target. Throws 404. */
export function current(context: WriteContext, target: Target): KubeObject {
  const object = context.store.get(target.type, objectKey(target.namespace, target.name));
  if (object === undefined) throw notFound(target.type, target.name);
  return object;
}

function unreadable(type: ResourceType, why: string): string {
  return `${type.kind} in version "${type.version}" cannot be handled as a ${type.kind}: ${why}`;
}

/** The object with the fields that its schema knows; what becomes of the others is the caller's wish. */
function prune(
  context: WriteContext,
  type: ResourceType,
  object: KubeObject,
  options: WriteOptions,
  refusal: (why: string) => ApiError,
): KubeObject {
  const schema = context.schemaOf(type);
  if (schema === undefined) return object;
  const { pruned, dropped } = schema.prune(object);
  const problems = dropped.map((path) => `unknown field "${path}"`);
  if (options.fieldValidation === "Strict" && problems.length > 0) {
    throw refusal(`strict decoding error: ${problems.join(", ")}`);
  }
  if (options.fieldValidation === "Warn") problems.forEach(options.warn);
  return pruned;
}

function checkFields(context: WriteContext, type: ResourceType, object: KubeObject, old: KubeObject | undefined): void {
  const why = unreadableTime(type, object);
  if (why !== undefined) {
    throw badRequest(unreadable(type, why));
  }
  validateMetadata(type, object);
  const schema = context.schemaOf(type);
  const errors: readonly FieldError[] = schema?.validate(object) ?? validateBuiltIn(type, object, old);
  if (errors.length > 0) throw invalid(type, object.metadata.name, errors);
}

function checkNamespace(context: WriteContext, type: ResourceType, namespace: string | undefined, name: string): void {
  if (!type.namespaced || namespace === undefined) return;
  const found = context.store.get(builtInResources.namespaces, namespace);
  if (found === undefined) throw notFound(builtInResources.namespaces, namespace);
  if (found.metadata.deletionTimestamp !== undefined) {
    const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
    const field = "metadata.namespace";
    const message = `namespace ${namespace} is being terminated`;
    throw forbidden(type, name, why, [{ reason: "NamespaceTerminating", message, field }]);
  }
}

function newName(context: WriteContext, type: ResourceType, metadata: JsonObject): string {
  const name = asString(metadata["name"]);
  if (name !== undefined && name !== "") return name;
  const prefix = asString(metadata["generateName"]);
  if (prefix !== undefined && prefix !== "") return prefix + randomNameSuffix(context.rng);
  const detail = "Required value: name or generateName is required";
  throw invalid(type, "", [{ field: "metadata.name", reason: "FieldValueRequired", detail }]);
}

/** Creates an object. Throws 400, 404 (namespace), 409, 422 and what admission says. */
export async function createObject(
  context: WriteContext,
  type: ResourceType,
  namespace: string | undefined,
  body: unknown,
  options: WriteOptions,
): Promise<KubeObject> {
  const decoded = decodeObject(type, body, namespace);
  if (asString(decoded.metadata.resourceVersion) !== undefined && decoded.metadata.resourceVersion !== "") {
    throw plainError("resourceVersion should not be set on objects to be created");
  }
  const name = newName(context, type, decoded.metadata as unknown as JsonObject);
  checkNamespace(context, type, namespace, name);
  const time = nowSeconds(context.clock);
  const named = withMetadata(decoded, {
    name,
    uid: randomUuid(context.rng),
    creationTimestamp: time,
    resourceVersion: undefined,
    deletionTimestamp: undefined,
    deletionGracePeriodSeconds: undefined,
    managedFields: undefined,
    generation: type.hasGeneration ? 1 : undefined,
  });
  const pruned = prune(context, type, named, options, (why) => badRequest(unreadable(type, why)));
  const complete = initialStatus(type, applyDefaults(type, pruned));
  checkFields(context, type, complete, undefined);
  const object = deepFreeze(stampManager(type, complete, options.fieldManager, undefined, time));
  await context.admission.validate({
    operation: "CREATE",
    type,
    namespace,
    name,
    object,
    caller: options.caller,
    dryRun: options.dryRun,
    warn: options.warn,
    options: reviewOptions("CreateOptions", { fieldManager: options.fieldManager }, options.dryRun),
  });
  checkNamespace(context, type, namespace, name);
  if (context.store.get(type, objectKey(namespace, name)) !== undefined) throw alreadyExists(type, name);
  return commit(context, type, object, options.dryRun);
}

/** One attempt's outcome: the new state computed from `old`. */
type Compute = (old: KubeObject) => KubeObject;

/** A write of an object, or of its status, and the refusal of fields that a strict client must not send. */
interface Change {
  readonly subresource: string | undefined;
  readonly compute: Compute;
  readonly refuseUnknown: (why: string, wanted: KubeObject) => ApiError;
}

function completeUpdate(
  context: WriteContext,
  type: ResourceType,
  old: KubeObject,
  { subresource, compute, refuseUnknown }: Change,
  options: WriteOptions,
): KubeObject {
  const wanted = compute(old);
  // The metadata that comes with a custom resource's status is not even looked at.
  const ignoresMetadata = type.custom && subresource === "status";
  const kept = updatedMetadata(type, old, ignoresMetadata ? { ...wanted, metadata: old.metadata } : wanted);
  const merged =
    subresource === "status" ? statusUpdate(type, old, kept) : mainUpdate(type, old, applyDefaults(type, kept));
  const pruned = prune(context, type, merged, options, (why) => refuseUnknown(why, merged));
  return withMetadata(pruned, { generation: nextGeneration(type, old, pruned) });
}

/**
 * Reads, computes, asks admission and commits at exactly the version that was read; starts again when it lost a race. A
 * write that changes nothing commits nothing. An update that takes the last finalizer of a deleted object removes it.
 */
async function guaranteedUpdate(
  context: WriteContext,
  target: Target,
  change: Change,
  options: WriteOptions,
): Promise<KubeObject> {
  const { type, name, namespace } = target;
  const { subresource } = change;
  for (let attempt = 0; attempt < racesMax; attempt += 1) {
    const old = current(context, target);
    const unstamped = completeUpdate(context, type, old, change, options);
    checkFields(context, type, unstamped, old);
    const changed = !jsonEquals(unstamped, old);
    const next = deepFreeze(
      changed ? stampManager(type, unstamped, options.fieldManager, subresource, nowSeconds(context.clock)) : old,
    );
    await context.admission.validate({
      operation: "UPDATE",
      type,
      subresource,
      namespace,
      name,
      object: next,
      oldObject: old,
      caller: options.caller,
      dryRun: options.dryRun,
      warn: options.warn,
      options: reviewOptions("UpdateOptions", { fieldManager: options.fieldManager }, options.dryRun),
    });
    const goesOn = (await context.beforeCommit?.(type, objectKey(namespace, name))) ?? true;
    if (context.store.get(type, objectKey(namespace, name)) !== old) {
      if (goesOn) continue;
      throw requestOver();
    }
    if (!changed) return old;
    const { deletionTimestamp, deletionGracePeriodSeconds, finalizers } = next.metadata;
    if (deletionTimestamp !== undefined && finalizers === undefined && (deletionGracePeriodSeconds ?? 0) === 0) {
      const removed = remove(context, type, next, options.dryRun);
      return withMetadata(next, { resourceVersion: removed.metadata.resourceVersion });
    }
    return commit(context, type, next, options.dryRun);
  }
  throw conflict(target.type, target.name);
}

function checkVersion(type: ResourceType, old: KubeObject, wanted: string | undefined): void {
  if (wanted === undefined || wanted === "" || wanted === old.metadata.resourceVersion) return;
  throw conflict(type, old.metadata.name);
}

function wrongName(inBody: string, inPath: string): ApiError {
  return badRequest(`the name of the object (${inBody}) does not match the name on the URL (${inPath})`);
}

/** PUT of an object or of its status. Throws 400, 404, 409, 422 and what admission says. */
export async function updateObject(
  context: WriteContext,
  target: Target,
  subresource: string | undefined,
  body: unknown,
  options: WriteOptions,
): Promise<KubeObject> {
  const { type, name } = target;
  const wanted = decodeObject(type, body, target.namespace);
  if (wanted.metadata.name !== name) {
    throw wrongName(wanted.metadata.name, name);
  }
  const version = asString(wanted.metadata.resourceVersion);
  const uid = asString(wanted.metadata.uid) ?? "";
  const change: Change = {
    subresource,
    refuseUnknown: (why) => badRequest(unreadable(type, why)),
    compute(old) {
      // The UID of a PUT is a precondition; that of a PATCH is an immutable field.
      if (uid !== "" && uid !== old.metadata.uid) {
        const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${old.metadata.uid}`;
        const at = `/registry/${groupResource(type)}/${objectKey(target.namespace, name)}`;
        throw conflict(
          type,
          name,
          `StorageError: invalid object, Code: 4, Key: ${at}, ResourceVersion: 0, AdditionalErrorMsg: ${why}`,
        );
      }
      if ((version ?? "") === "" && !type.unconditionalUpdate) {
        const detail = "Invalid value: 0: must be specified for an update";
        // Here the server names the resource where it usually names the kind.
        throw invalid({ ...type, kind: type.resource }, name, [
          { field: "metadata.resourceVersion", reason: "FieldValueInvalid", detail },
        ]);
      }
      checkVersion(type, old, version);
      return wanted;
    },
  };
  return await guaranteedUpdate(context, target, change, options);
}

/** The refusal of a patch whose result the server cannot read; it names no object. */
function unreadablePatch(result: JsonObject, why: string): ApiError {
  const field = "patch";
  const detail = `Invalid value: ${JSON.stringify(JSON.stringify(result))}: ${why}`;
  return new ApiError(422, "Invalid", ` "" is invalid: ${field}: ${detail}`, {
    causes: [{ reason: "FieldValueInvalid", message: detail, field }],
  });
}

/** PATCH of an object or of its status; applied again to the newer state when it lost a race. */
export async function patchObject(
  context: WriteContext,
  target: Target,
  subresource: string | undefined,
  patch: Patch,
  options: WriteOptions,
): Promise<KubeObject> {
  const change: Change = {
    subresource,
    refuseUnknown: (why, wanted) => unreadablePatch(wanted, why),
    compute(old) {
      const result = applyClientPatch(target.type, old, patch);
      const why = unreadableMetadata(target.type, asObject(result["metadata"]));
      if (why !== undefined) throw unreadablePatch(result, why);
      const patched = decodeObject(target.type, result, target.namespace);
      if (patched.metadata.name !== target.name) throw wrongName(patched.metadata.name, target.name);
      checkVersion(target.type, old, asString(patched.metadata.resourceVersion));
      return patched;
    },
  };
  return await guaranteedUpdate(context, target, change, options);
}

/**
 * A write of the server itself, such as a binding or an eviction's condition: no admission, no client's restrictions.
 * Committed at once, so there is no race to lose. metadata.generation stays.
 */
export function internalUpdate(
  context: WriteContext,
  target: Target,
  subresource: string | undefined,
  compute: Compute,
  options: WriteOptions,
): KubeObject {
  const old = current(context, target);
  const next = compute(old);
  if (jsonEquals(old, next)) return old;
  const stamped = stampManager(target.type, next, options.fieldManager, subresource, nowSeconds(context.clock));
  return commit(context, target.type, stamped, options.dryRun);
}
