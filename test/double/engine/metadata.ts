/**
 * The rules of metadata that hold for every resource: names, immutable fields, timestamps, generation, managedFields.
 */
import { type Clock } from "../../../src/util/clock.ts";
import {
  type JsonObject,
  type KubeObject,
  type Metadata,
  type OwnerReference,
  asObject,
  asString,
  isObject,
  asNumber,
  jsonEquals,
  withMetadata,
} from "./object.ts";
import { changedFields, fieldsIn, fieldsV1Of, isRemovedAnnotation } from "./field-owners.ts";
import { type ResourceType, apiVersionOf, builtInResources } from "./resources.ts";
import {
  dnsLabelProblems,
  objectNameProblems,
  validateAnnotations,
  validateFinalizers,
  validateLabels,
} from "./qualified-names.ts";
import { desiredStateChanged } from "./strategy.ts";
import { type FieldError, badRequest, invalid } from "./status.ts";

const microsPerSecond = 1_000_000;

/** A metav1.Time: whole seconds. */
export function formatSeconds(epochMicros: number): string {
  return `${new Date(Math.floor(epochMicros / microsPerSecond) * 1000).toISOString().slice(0, 19)}Z`;
}

export function nowSeconds(clock: Clock): string {
  return formatSeconds(clock.epochMicros());
}

function jsonType(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
}

/** What stops the server from reading `metadata` at all: maps of strings that are none. Undefined = nothing. */
export function unreadableMetadata(type: ResourceType, metadata: JsonObject): string | undefined {
  for (const field of ["labels", "annotations"]) {
    const map = metadata[field] ?? {};
    const path = type.custom ? `ObjectMeta.${field}` : `ObjectMeta.metadata.${field}`;
    const say = (value: unknown, wanted: string): string =>
      `json: cannot unmarshal ${jsonType(value)} into Go struct field ${path} of type ${wanted}`;
    if (!isObject(map)) return say(map, "map[string]string");
    const wrong = Object.values(map).find((value) => typeof value !== "string" && value !== null);
    if (wrong !== undefined) return say(wrong, "string");
  }
  return undefined;
}

/**
 * `body` with its apiVersion and kind, which may be left out for built-in types. Throws 400, and 422 for a custom
 * resource of another kind.
 */
function checkType(type: ResourceType, body: JsonObject): JsonObject {
  const { apiVersion = "", kind = "" } = body;
  const expected = apiVersionOf(type);
  if (kind === type.kind && apiVersion === expected) return body;
  if (type.custom) {
    if (kind === "") {
      throw badRequest(
        `the object provided is unrecognized (must be of type ${type.kind}): Object 'Kind' is missing in ` +
          `'${JSON.stringify(body)}'`,
      );
    }
    if (apiVersion !== expected) {
      throw badRequest(
        `the API version in the data (${String(apiVersion)}) does not match the expected API version (${expected})`,
      );
    }
    const error = invalidField("kind", kind, `must be ${type.kind}`);
    throw invalid({ ...type, kind: String(kind) }, asString(asObject(body["metadata"])["name"]) ?? "", [error]);
  }
  if ((kind === "" || kind === type.kind) && (apiVersion === "" || apiVersion === expected)) {
    return { ...body, apiVersion: expected, kind: type.kind };
  }
  const version = String(apiVersion).split("/").at(-1);
  throw badRequest(
    `${String(kind)} in version ${JSON.stringify(version)} cannot be handled as a ${type.kind}: no such conversion`,
  );
}

const leftOutWhenEmpty: readonly string[] = ["labels", "annotations", "ownerReferences", "finalizers"];

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

/**
 * Checks that `body` is an object of this resource and has a usable shape. Throws 400, and 422 for a custom resource of
 * another kind.
 */
export function decodeObject(type: ResourceType, body: unknown, namespace: string | undefined): KubeObject {
  if (!isObject(body)) throw badRequest(`the object provided is unrecognized (must be of type ${type.kind})`);
  const typed = checkType(type, body);
  const metadata = asObject(body["metadata"]);
  const inBody = asString(metadata["namespace"]);
  if (inBody !== undefined && inBody !== "" && inBody !== namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  const why = unreadableMetadata(type, metadata);
  if (why !== undefined) {
    throw badRequest(`${type.kind} in version "${type.version}" cannot be handled as a ${type.kind}: ${why}`);
  }
  const kept = Object.entries(metadata).filter(([key, value]) => !(leftOutWhenEmpty.includes(key) && isEmpty(value)));
  const checked = { ...Object.fromEntries(kept), ...(namespace === undefined ? {} : { namespace }) } as Metadata;
  return { ...typed, metadata: checked } as KubeObject;
}

/** The types whose validation goes beyond what every object's metadata must satisfy. */
function isStrict(type: ResourceType): boolean {
  return (type.group === "" || type.group === "apps") && type !== builtInResources.events;
}

/** Refuses malformed names, labels, annotations and finalizers with 422. */
export function validateMetadata(type: ResourceType, object: KubeObject): void {
  const { name, labels = {}, annotations = {}, ownerReferences = [], finalizers = [] } = object.metadata;
  const nameProblems = type === builtInResources.statefulSets ? dnsLabelProblems : objectNameProblems;
  const errors: FieldError[] = [
    ...nameProblems(name).map((why): FieldError => invalidField("metadata.name", name, why)),
    ...validateLabels(labels),
    ...validateAnnotations(annotations),
    ...validateOwners(ownerReferences),
    ...validateFinalizers(finalizers, isStrict(type)),
  ];
  if (errors.length > 0) throw invalid(type, name, errors);
}

function validateOwners(owners: readonly OwnerReference[]): FieldError[] {
  const field = "metadata.ownerReferences";
  const errors = owners.flatMap((owner) => {
    const missing = (["apiVersion", "kind", "name", "uid"] as const).filter((key) => (owner[key] ?? "") === "");
    return missing.map((key) =>
      invalidField(`${field}.${key}`, "", `${key === "apiVersion" ? "version " : ""}must not be empty`),
    );
  });
  const [first, second] = owners.filter(({ controller }) => controller === true);
  if (first === undefined || second === undefined) return errors;
  const why =
    `Only one reference can have Controller set to true. Found "true" in references for ` +
    `${first.kind}/${first.name} and ${second.kind}/${second.name}`;
  return [...errors, invalidField(field, owners, why)];
}

function invalidField(field: string, value: unknown, why: string): FieldError {
  return { field, reason: "FieldValueInvalid", detail: `Invalid value: ${JSON.stringify(value)}: ${why}` };
}

/** Fields that a client may repeat, or leave out, but not set or change. */
function checkImmutable(type: ResourceType, before: Metadata, after: Metadata): void {
  const refuse = (field: "uid" | "deletionTimestamp" | "deletionGracePeriodSeconds"): void => {
    const error = invalidField(`metadata.${field}`, after[field], "field is immutable");
    throw invalid(type, before.name, [error]);
  };
  const uid = asString(after.uid) ?? "";
  if (uid !== "" && uid !== before.uid) refuse("uid");
  if (after.deletionTimestamp !== undefined && before.deletionTimestamp === undefined) refuse("deletionTimestamp");
  const grace = after.deletionGracePeriodSeconds;
  if (grace !== undefined && grace !== before.deletionGracePeriodSeconds) refuse("deletionGracePeriodSeconds");
}

/** An update keeps what clients cannot change, and is refused where it tries to change an identity. */
export function updatedMetadata(type: ResourceType, old: KubeObject, next: KubeObject): KubeObject {
  const before = old.metadata;
  const after = next.metadata;
  checkImmutable(type, before, after);
  const added = (after.finalizers ?? []).filter((name) => !(before.finalizers ?? []).includes(name));
  if (before.deletionTimestamp !== undefined && added.length > 0) {
    const detail =
      "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers " +
      `[]string{${added.map((name) => JSON.stringify(name)).join(", ")}}`;
    throw invalid(type, before.name, [{ field: "metadata.finalizers", reason: "FieldValueForbidden", detail }]);
  }
  return withMetadata(next, {
    uid: before.uid,
    creationTimestamp: before.creationTimestamp,
    deletionTimestamp: before.deletionTimestamp,
    deletionGracePeriodSeconds: before.deletionGracePeriodSeconds,
    generation: before.generation,
    resourceVersion: before.resourceVersion,
    managedFields: before.managedFields,
    finalizers: (after.finalizers ?? []).length === 0 ? undefined : after.finalizers,
    ...(before.generateName === undefined ? {} : { generateName: before.generateName }),
  });
}

/** metadata.generation moves with the desired state only. */
export function nextGeneration(type: ResourceType, old: KubeObject, next: KubeObject): number | undefined {
  const generation = old.metadata.generation;
  if (!type.hasGeneration || generation === undefined) return generation;
  return desiredStateChanged(type, old, next) ? generation + 1 : generation;
}

// The server folds older entries together beyond this number.
const managersMax = 10;

function managerOrder({ time, manager, apiVersion, subresource = "" }: JsonObject): string {
  return [time, manager, apiVersion, subresource].map(String).join("\0");
}

export interface Writer {
  readonly manager: string;
  readonly subresource: string | undefined;
  /** Of the write. */
  readonly time: string;
}

/** managedFields with the entry of this writer moved to `time`; which fields are tracked: field-owners.ts. */
export function stampManager(
  type: ResourceType,
  before: KubeObject | undefined,
  object: KubeObject,
  { manager, subresource, time }: Writer,
): KubeObject {
  const identity = {
    manager,
    operation: "Update",
    apiVersion: apiVersionOf(type),
    fieldsType: "FieldsV1",
    ...(subresource === undefined ? {} : { subresource }),
  };
  const changed = changedFields(type, before, object);
  const own: string[] = [];
  const others: JsonObject[] = [];
  for (const { time: at, fieldsV1, ...other } of object.metadata.managedFields ?? []) {
    const kept = fieldsIn(fieldsV1).filter((field) => !changed.has(field));
    if (jsonEquals(other, identity)) own.push(...kept);
    else others.push({ ...other, time: at, fieldsV1: fieldsV1Of(kept) });
  }
  const taken = [...changed].filter(
    (field) => !isRemovedAnnotation(field, object) && (subresource !== "scale" || !isScaledToZero(field, object)),
  );
  const entry = { ...identity, time, fieldsV1: fieldsV1Of([...own, ...taken]) };
  const kept = [...others.slice(1 - managersMax), entry];
  return withMetadata(object, { managedFields: kept.toSorted((a, b) => (managerOrder(a) < managerOrder(b) ? -1 : 1)) });
}

function isScaledToZero(field: string, { spec }: KubeObject): boolean {
  return field === "f:spec f:replicas" && asNumber(spec?.["replicas"]) === 0;
}
