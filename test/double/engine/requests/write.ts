/** What every write needs: its context and options, the checks of its fields, and the commit. */
import { type Admission, type Caller } from "../admission.ts";
import { type Clock } from "../../../../src/util/clock.ts";
import { type Rng } from "../../../../src/util/rng.ts";
import { type CustomSchema } from "../crd-schema.ts";
import { validateMetadata } from "../metadata.ts";
import { type KubeObject, deepFreeze, objectKey } from "../object.ts";
import { type ResourceType } from "../resources.ts";
import { ApiError, type FieldError, badRequest, invalid, notFound } from "../status.ts";
import { type Store } from "../store.ts";
import { unreadableTime, validateBuiltIn } from "../strategy.ts";

/** What every write needs; made once per cluster. */
export interface WriteContext {
  readonly store: Store;
  readonly admission: Admission;
  readonly clock: Clock;
  readonly rng: Rng;
  /** The schema of a custom resource; undefined = anything goes. */
  schemaOf(type: ResourceType): CustomSchema | undefined;
  /** Throws when no object of a custom resource can be created. */
  checkCreate(type: ResourceType): void;
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
  /** The subresource in managedFields, where it is not that of the update: "scale" writes the object itself. */
  readonly writtenThrough?: string;
  /**
   * What happens to fields that the schema of a custom resource does not know: they are dropped, or the write is
   * refused.
   */
  readonly fieldValidation: FieldValidation;
  /** Takes what the caller is to be told besides the answer. */
  readonly warn: (text: string) => void;
}

export type FieldValidation = "Ignore" | "Strict" | "Warn";

/**
 * etcd's --max-request-bytes, 1.5 MiB. Custom resources are stored as JSON; objects of built-in types are smaller in
 * storage than here, and never as large.
 */
const requestBytesMax = 1.5 * 1024 * 1024;

/** Takes the commit out of dry runs: the object as it would be, without a new version. */
export function commit(context: WriteContext, type: ResourceType, object: KubeObject, dryRun: boolean): KubeObject {
  if (dryRun) return deepFreeze(object);
  const { namespace, name } = object.metadata;
  const stamped = context.stampWrites?.(type, object) ?? object;
  if (type.custom && Buffer.byteLength(JSON.stringify(stamped)) > requestBytesMax)
    throw new ApiError(500, "", "etcdserver: request is too large");
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

export function unreadable(type: ResourceType, why: string): string {
  return `${type.kind} in version "${type.version}" cannot be handled as a ${type.kind}: ${why}`;
}

/** The object with the fields that its schema knows; what becomes of the others is the caller's wish. */
export function prune(
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

export function checkFields(
  context: WriteContext,
  type: ResourceType,
  object: KubeObject,
  old: KubeObject | undefined,
): void {
  const why = unreadableTime(type, object);
  if (why !== undefined) {
    throw badRequest(unreadable(type, why));
  }
  validateMetadata(type, object);
  const schema = context.schemaOf(type);
  const errors: readonly FieldError[] = schema?.validate(object) ?? validateBuiltIn(type, object, old);
  if (errors.length > 0) throw invalid(type, object.metadata.name, errors);
}
