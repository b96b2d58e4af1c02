/**
 * The directives of a strategic merge patch: keys that begin with a dollar and say what is to be done rather than what
 * is to be there.
 */
import { type JsonObject, asObject, isObject } from "../object.ts";
import { badRequest, plainError } from "../status.ts";

export const patchDirective = "$patch";
export const retainKeysDirective = "$retainKeys";
export const orderPrefix = "$setElementOrder/";
export const deletePrefix = "$deleteFromPrimitiveList/";

/** How Go prints a map in a message. */
function goText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(goText).join(" ")}]`;
  if (!isObject(value)) return String(value);
  const fields = Object.keys(value).toSorted();
  return `map[${fields.map((key) => `${key}:${goText(value[key])}`).join(" ")}]`;
}

export function noMergeKey(item: unknown, mergeKey: string): Error {
  return plainError(`map: ${goText(item)} does not contain declared merge key: ${mergeKey}`);
}

export function unknownDirective(directive: unknown, item: JsonObject): Error {
  return plainError(`unknown patch type: ${goText(directive)} in map: ${goText(item)}`);
}

/** A directive whose value should be a list. */
export function notAList(value: unknown): Error {
  const got = isObject(value) ? "map[string]interface {}" : typeof value;
  return plainError(`expected a []interface {}, but received a ${got}`);
}

/** `object` without `key`. */
export function without(object: JsonObject, key: string): JsonObject {
  const { [key]: _, ...rest } = object;
  return rest;
}

/**
 * A value that is new to the object, as it is stored: without directives and nulls. Undefined when it only said what to
 * delete.
 */
export function plainValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainValue).filter((item) => item !== undefined);
  if (!isObject(value)) return value;
  if (patchDirective in value) return undefined;
  const kept = Object.entries(value)
    .filter(([key, field]) => field !== null && !key.startsWith("$"))
    .map(([key, field]) => [key, plainValue(field)] as const);
  return Object.fromEntries(kept.filter(([, field]) => field !== undefined));
}

/**
 * An item that is new to a list: without directives and nulls as well, but here the server keeps what only says what to
 * delete.
 */
export function plainItem(item: unknown): unknown {
  if (Array.isArray(item)) return item.map(plainItem);
  if (!isObject(item)) return item;
  const kept = Object.entries(item).filter(([key, field]) => field !== null && !key.startsWith("$"));
  return Object.fromEntries(kept.map(([key, field]) => [key, plainItem(field)]));
}

/**
 * A mutable copy of `original` with the fields that `$retainKeys` leaves; all of them without the directive. Throws
 * 400.
 */
export function retained(original: JsonObject, patch: JsonObject): Record<string, unknown> {
  if (!(retainKeysDirective in patch)) return { ...original };
  const keys = patch[retainKeysDirective];
  if (!Array.isArray(keys)) throw badRequest("invalid patch format of retainKeys");
  const isKept = (key: string): boolean => keys.includes(key);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || key.startsWith("$")) continue;
    if (!isKept(key)) throw badRequest("invalid patch format of retainKeys");
  }
  return Object.fromEntries(Object.entries(original).filter(([key]) => isKept(key)));
}

/** True for an item that says which item to delete. */
export function isDeletion(item: unknown): boolean {
  return asObject(item)[patchDirective] === "delete";
}
