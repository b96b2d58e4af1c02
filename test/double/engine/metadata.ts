/** The rules of metadata that hold for every resource: names, immutable fields, timestamps, generation, managedFields. */
import { type Clock } from "../../../src/util/clock.ts";
import { type KubeObject, type Metadata, asObject, asString, isObject, jsonEquals, withMetadata } from "./object.ts";
import { type ResourceType, apiVersionOf } from "./resources.ts";
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

const dnsSubdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const nameLengthMax = 253;

/** Checks that `body` is an object of this resource and has a usable shape. Throws 400. */
export function decodeObject(type: ResourceType, body: unknown, namespace: string | undefined): KubeObject {
  if (!isObject(body)) throw badRequest("the object provided is unrecognized (must be of type " + type.kind + ")");
  const { apiVersion, kind } = body;
  if (kind !== type.kind || apiVersion !== apiVersionOf(type)) {
    const expected = `${apiVersionOf(type)}, Kind=${type.kind}`;
    throw badRequest(
      `the API version in the data (${String(apiVersion)}, Kind=${String(kind)}) does not match the expected API version (${expected})`,
    );
  }
  const metadata = asObject(body["metadata"]);
  const inBody = asString(metadata["namespace"]);
  if (inBody !== undefined && inBody !== "" && inBody !== namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  const checked = { ...metadata, ...(namespace === undefined ? {} : { namespace }) } as unknown as Metadata;
  return { ...body, metadata: checked } as KubeObject;
}

function validateStringMap(field: string, value: unknown): FieldError[] {
  if (value === undefined || (isObject(value) && Object.values(value).every((item) => typeof item === "string")))
    return [];
  return [
    { field, reason: "FieldValueInvalid", detail: `Invalid value: ${JSON.stringify(value)}: must be a map of strings` },
  ];
}

/** Refuses malformed names, labels and annotations with 422. */
export function validateMetadata(type: ResourceType, object: KubeObject): void {
  const { name, labels, annotations } = object.metadata;
  const errors = [
    ...validateStringMap("metadata.labels", labels),
    ...validateStringMap("metadata.annotations", annotations),
  ];
  if (!dnsSubdomain.test(name) || name.length > nameLengthMax) {
    const detail = `Invalid value: ${JSON.stringify(name)}: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`;
    errors.push({ field: "metadata.name", reason: "FieldValueInvalid", detail });
  }
  if (errors.length > 0) throw invalid(type, name, errors);
}

/** An update keeps what clients cannot change, and is refused where it tries to change an identity. */
export function updatedMetadata(type: ResourceType, old: KubeObject, next: KubeObject): KubeObject {
  const before = old.metadata;
  const after = next.metadata;
  const uid = asString(after.uid);
  if (uid !== undefined && uid !== "" && uid !== before.uid) {
    const detail = `Invalid value: ${JSON.stringify(uid)}: field is immutable`;
    throw invalid(type, before.name, [{ field: "metadata.uid", reason: "FieldValueInvalid", detail }]);
  }
  const added = (after.finalizers ?? []).filter((name) => !(before.finalizers ?? []).includes(name));
  if (before.deletionTimestamp !== undefined && added.length > 0) {
    const detail = `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((name) => JSON.stringify(name)).join(", ")}}`;
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
  return desiredStateChanged(old, next) ? generation + 1 : generation;
}

// The server folds older entries together beyond this number.
const managersMax = 10;

/** managedFields with the entry of this writer moved to `time`. The fields themselves are not tracked. */
export function stampManager(
  type: ResourceType,
  object: KubeObject,
  manager: string,
  subresource: string | undefined,
  time: string,
): KubeObject {
  const entry = {
    manager,
    operation: "Update",
    apiVersion: apiVersionOf(type),
    time,
    fieldsType: "FieldsV1",
    fieldsV1: {},
    ...(subresource === undefined ? {} : { subresource }),
  };
  const { time: _, ...identity } = entry;
  const others = (object.metadata.managedFields ?? []).filter(
    ({ time: _time, ...other }) => !jsonEquals(other, identity),
  );
  return withMetadata(object, { managedFields: [...others.slice(1 - managersMax), entry] });
}
