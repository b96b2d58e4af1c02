/** Updates and patches: read, compute, ask admission, and commit only at the version that was read. */
import { reviewOptions } from "../admission.ts";
import {
  decodeObject,
  nextGeneration,
  nowSeconds,
  stampManager,
  unreadableMetadata,
  updatedMetadata,
} from "../metadata.ts";
import {
  type JsonObject,
  type KubeObject,
  asObject,
  asString,
  deepFreeze,
  jsonEquals,
  objectKey,
  withMetadata,
} from "../object.ts";
import { type Patch, applyClientPatch } from "./patch.ts";
import { type ResourceType, groupResource } from "../resources.ts";
import { ApiError, badRequest, conflict, invalid } from "../status.ts";
import { applyDefaults, mainUpdate, statusUpdate } from "../strategy.ts";
import {
  type Target,
  type WriteContext,
  type WriteOptions,
  checkFields,
  commit,
  current,
  prune,
  remove,
  requestOver,
  unreadable,
} from "./write.ts";

// The server gives up after the same number of lost races.
const racesMax = 5;

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
    const time = nowSeconds(context.clock);
    const writer = { manager: options.fieldManager, subresource: options.writtenThrough ?? subresource, time };
    const next = deepFreeze(changed ? stampManager(type, old, unstamped, writer) : old);
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
  const writer = { manager: options.fieldManager, subresource, time: nowSeconds(context.clock) };
  const stamped = stampManager(target.type, old, next, writer);
  return commit(context, target.type, stamped, options.dryRun);
}
