/** The scale subresource of the apps workloads: an autoscaling/v1 view of spec.replicas. */
import {
  type JsonObject,
  type KubeObject,
  asNumber,
  asObject,
  asString,
  isObject,
  withFields,
  withMetadata,
} from "./object.ts";
import { type Patch, applyClientPatch } from "./patch.ts";
import { badRequest, invalid } from "./status.ts";
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

/** The Scale of a workload. */
export function scaleOf(object: KubeObject): JsonObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: asNumber(object.spec?.["replicas"]) ?? 0 },
    status: { replicas: asNumber(object.status?.["replicas"]) ?? 0, selector: selectorText(object.spec?.["selector"]) },
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
  const wanted = withMetadata(withFields(old, { spec: { ...old.spec, replicas } }), { resourceVersion });
  return scaleOf(await updateObject(context, target, undefined, wanted, { ...options, writtenThrough: "scale" }));
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
    applyClientPatch(target.type, scaleOf(current(context, target)), patch),
    options,
  );
}
