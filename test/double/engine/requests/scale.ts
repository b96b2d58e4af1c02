/**
 * The scale subresource: an autoscaling/v1 view of the replicas of an object. Those of the built-in workloads are in
 * spec.replicas; custom resources name their fields in the definition.
 */
import {
  type JsonObject,
  type KubeObject,
  asNumber,
  asObject,
  asString,
  isObject,
  withFields,
  withMetadata,
} from "../object.ts";
import { type Patch, applyClientPatch } from "./patch.ts";
import { type ResourceType } from "../resources.ts";
import { badRequest, internalError, invalid } from "../status.ts";
import { updateObject } from "./update.ts";
import { type Target, type WriteContext, type WriteOptions, current } from "./write.ts";

function selectorText(selector: unknown): string {
  const { matchLabels, matchExpressions } = asObject(selector);
  const equal = Object.entries(asObject(matchLabels)).map(([key, value]) => `${key}=${String(value)}`);
  const terms = (Array.isArray(matchExpressions) ? matchExpressions : []).map((item) => {
    const { key, operator, values } = asObject(item);
    if (operator === "Exists") return String(key);
    if (operator === "DoesNotExist") return `!${String(key)}`;
    return `${String(key)} ${operator === "In" ? "in" : "notin"} (${(values as unknown[]).join(",")})`;
  });
  return [...equal, ...terms].join(",");
}

function at(object: JsonObject, path: string): unknown {
  let value: unknown = object;
  for (const field of path.split(".").slice(1)) value = asObject(value)[field];
  return value;
}

/** The object with `value` at the path, which need not exist. */
function withAt(object: JsonObject, [field = "", ...rest]: readonly string[], value: number): JsonObject {
  return { ...object, [field]: rest.length === 0 ? value : withAt(asObject(object[field]), rest, value) };
}

/** The Scale of an object, of a type that has one. Replicas of 0 are left out, as the server's encoder does. */
export function scaleOf(type: ResourceType, object: KubeObject): JsonObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const { specReplicas, statusReplicas, selector } = type.scalePaths;
  const replicas = asNumber(at(object, specReplicas));
  if (replicas === undefined && type.custom)
    throw internalError(`the spec replicas field "${specReplicas}" does not exist`);
  const text = type.custom
    ? (asString(selector === undefined ? undefined : at(object, selector)) ?? "")
    : selectorText(object.spec?.["selector"]);
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: replicas === undefined || replicas === 0 ? {} : { replicas },
    status: { replicas: asNumber(at(object, statusReplicas)) ?? 0, ...(text === "" ? {} : { selector: text }) },
  };
}

async function writeScale(
  context: WriteContext,
  target: Target,
  scale: unknown,
  options: WriteOptions,
): Promise<JsonObject> {
  const replicas = asNumber(asObject(asObject(scale)["spec"])["replicas"]) ?? 0;
  if (!isObject(scale) || scale["kind"] !== "Scale") {
    const { kind, apiVersion } = asObject(scale);
    throw badRequest(
      `${String(kind)} in version ${JSON.stringify(apiVersion)} cannot be handled as a Scale: no such conversion`,
    );
  }
  if (replicas < 0) {
    const detail = `Invalid value: ${replicas}: must be greater than or equal to 0`;
    const type = { ...target.type, group: "autoscaling", kind: "Scale" };
    throw invalid(type, target.name, [{ field: "spec.replicas", reason: "FieldValueInvalid", detail }]);
  }
  const resourceVersion = asString(asObject(scale["metadata"])["resourceVersion"]);
  const old = current(context, target);
  const spec = asObject(withAt(old, target.type.scalePaths.specReplicas.split(".").slice(1), replicas)["spec"]);
  const wanted = withMetadata(withFields(old, { spec }), { resourceVersion });
  const written = await updateObject(context, target, undefined, wanted, { ...options, writtenThrough: "scale" });
  return scaleOf(target.type, written);
}

/** PUT of a Scale. */
export async function updateScale(
  context: WriteContext,
  target: Target,
  body: unknown,
  options: WriteOptions,
): Promise<JsonObject> {
  return await writeScale(context, target, body, options);
}

/** PATCH of a Scale. */
export async function patchScale(
  context: WriteContext,
  target: Target,
  patch: Patch,
  options: WriteOptions,
): Promise<JsonObject> {
  return await writeScale(
    context,
    target,
    applyClientPatch(target.type, scaleOf(target.type, current(context, target)), patch),
    options,
  );
}
