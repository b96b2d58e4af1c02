/** JSON merge patch (RFC 7386) and JSON patch (RFC 6902). */
import { type Operation, applyPatch } from "rfc6902";
import { type JsonObject, isObject } from "./object.ts";
import { ApiError, badRequest, notImplemented } from "./status.ts";

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

/** The patched copy of `target`; nothing is changed in place. Throws 400, 422 (a failed JSON patch) and 501 (strategic and apply patches). */
export function applyClientPatch(target: JsonObject, patch: Patch): JsonObject {
  let result: unknown;
  if (patch.contentType === "application/merge-patch+json") {
    if (!isObject(patch.body)) throw badRequest("the merge patch is not a JSON object");
    result = mergePatch(target, patch.body);
  } else if (patch.contentType === "application/json-patch+json") {
    if (!Array.isArray(patch.body)) throw badRequest("the JSON patch is not an array of operations");
    result = jsonPatch(target, patch.body);
  } else throw notImplemented(`patches of type ${patch.contentType}`);
  if (!isObject(result)) throw badRequest("the patched object is no object");
  return result;
}
