/**
 * The patches that clients send: JSON merge patch (RFC 7386), JSON patch (RFC 6902) and, for built-in types, strategic
 * merge patch.
 */
import { type Operation, applyPatch } from "rfc6902";
import { type JsonObject, isObject } from "../object.ts";
import { type ResourceType } from "../resources.ts";
import { ApiError, badRequest, notImplemented, unsupportedMediaType } from "../status.ts";
import { strategicMerge } from "../strategic-merge/merge.ts";

export interface Patch {
  /** The media type, without parameters. */
  readonly contentType: string;
  readonly body: unknown;
}

// The server's own limit on the operations of one JSON patch.
const operationsMax = 10_000;

function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key], value);
  }
  return merged;
}

function jsonPatch(target: JsonObject, operations: readonly unknown[]): unknown {
  if (operations.length > operationsMax) {
    throw new ApiError(
      413,
      "RequestEntityTooLarge",
      `The allowed maximum operations in a JSON patch is ${operationsMax}, got ${operations.length}`,
    );
  }
  const result: unknown = structuredClone(target);
  const failed = applyPatch(result, operations as Operation[]).find((error) => error !== null);
  if (failed === undefined) return result;
  throw new ApiError(422, "Invalid", `the server rejected our request due to an error in our request`, {});
}

function undecodable(body: unknown, wanted: string): ApiError {
  const got = body === null ? "null" : Array.isArray(body) ? "array" : typeof body;
  return badRequest(`error decoding patch: json: cannot unmarshal ${got} into Go value of type ${wanted}`);
}

function unknownType(type: ResourceType): ApiError {
  // The route of a built-in resource refuses it before anything knows more than the number.
  if (!type.custom) return unsupportedMediaType("415: Unsupported Media Type");
  return unsupportedMediaType(
    "the body of the request was in an unknown format - accepted media types include: " +
      "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
  );
}

/**
 * The patched copy of `target`; nothing is changed in place. Throws 400, 415, 422 (a failed JSON patch), 500 (a
 * strategic patch without a merge key) and 501 (apply).
 */
export function applyClientPatch(type: ResourceType, target: JsonObject, patch: Patch): JsonObject {
  let result: unknown;
  switch (patch.contentType) {
    case "application/merge-patch+json":
      if (!isObject(patch.body)) throw undecodable(patch.body, "map[string]interface {}");
      result = mergePatch(target, patch.body);
      break;
    case "application/json-patch+json":
      if (!Array.isArray(patch.body)) throw undecodable(patch.body, "[]handlers.jsonPatchOp");
      result = jsonPatch(target, patch.body);
      break;
    case "application/strategic-merge-patch+json":
      if (type.custom) throw unknownType(type);
      if (!isObject(patch.body)) throw undecodable(patch.body, "map[string]interface {}");
      result = strategicMerge(target, patch.body);
      break;
    case "application/apply-patch+yaml":
      throw notImplemented("server-side apply");
    default:
      throw unknownType(type);
  }
  if (!isObject(result)) throw badRequest("the patched object is no object");
  return result;
}
