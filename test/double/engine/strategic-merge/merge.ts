/**
 * Strategic merge patch, as kubectl sends it for built-in types: a merge patch that knows which lists are merged, and
 * by which key. The order of merged lists follows the real server, which puts what the patch names before what it does
 * not, as far as the old order says nothing else.
 */
import { type JsonObject, isObject } from "../object.ts";
import { plainError } from "../status.ts";
import {
  deletePrefix,
  isDeletion,
  noMergeKey,
  notAList,
  orderPrefix,
  patchDirective,
  plainItem,
  plainValue,
  retainKeysDirective,
  retained,
  unknownDirective,
  without,
} from "./directives.ts";
import { type FieldRule, type FieldRules, fieldRulesOf } from "./merge-keys.ts";

type List = readonly unknown[];

/** What tells the items of a list apart: a field of theirs, or themselves. */
type Identity = (item: unknown) => unknown;

function identityBy(mergeKey: string | undefined): Identity {
  if (mergeKey === undefined) return (item) => item;
  return (item) => {
    if (!isObject(item) || !(mergeKey in item)) throw noMergeKey(item, mergeKey);
    return item[mergeKey];
  };
}

/**
 * `merged` with the items that `order` names in its order; the others keep their places in `before` as far as that is
 * known.
 */
function inOrder(merged: List, order: List, before: List, identity: Identity): unknown[] {
  const wanted = order.map(identity);
  const known = before.map(identity);
  const named = merged
    .filter((item) => wanted.includes(identity(item)))
    .sort((a, b) => wanted.indexOf(identity(a)) - wanted.indexOf(identity(b)));
  const others = merged.filter((item) => !wanted.includes(identity(item)));
  const result: unknown[] = [];
  while (named.length > 0 && others.length > 0) {
    const [other, next] = [known.indexOf(identity(others[0])), known.indexOf(identity(named[0]))];
    const isFirst = other >= 0 && next >= 0 && other < next;
    result.push(isFirst ? others.shift() : named.shift());
  }
  return [...result, ...named, ...others];
}

/** Merges lists of maps; items with directives first, because they may replace the list or make room. */
function mergeItems(original: List, patch: List, mergeKey: string, fields: FieldRules): unknown[] {
  const identity = identityBy(mergeKey);
  const plain = patch.filter((item) => !isObject(item) || !(patchDirective in item));
  let kept = [...original];
  let isReplaced = false;
  for (const item of patch) {
    if (!isObject(item) || !(patchDirective in item)) continue;
    const directive = item[patchDirective];
    if (directive === "replace") isReplaced = true;
    else if (directive === "delete") kept = kept.filter((old) => identity(old) !== identity(item));
    else if (directive === "merge") throw plainError("merging lists cannot yet be specified in the patch");
    else throw unknownDirective(directive, item);
  }
  if (isReplaced) return plain.map(plainItem);
  const merged = [...kept];
  for (const item of plain) {
    const at = merged.findIndex((old) => identity(old) === identity(item));
    if (at < 0) merged.push(plainItem(item));
    else merged[at] = mergeMap(merged[at] as JsonObject, item as JsonObject, fields);
  }
  return inOrder(merged, plain, kept, identity);
}

function mergeList(original: List, patch: List, rule: FieldRule | undefined): unknown[] {
  if (rule?.isSet === true) {
    return inOrder([...new Set([...original, ...patch])], patch, original, identityBy(undefined));
  }
  if (rule?.mergeKey !== undefined) return mergeItems(original, patch, rule.mergeKey, rule.fields ?? {});
  return [...patch];
}

/** Refuses a patch list whose items are not in the order that the patch itself asks for. */
function checkOrder(patch: List, order: List, identity: Identity): void {
  let at = 0;
  const items = patch.filter((item) => !isDeletion(item)).map(identity);
  for (const wanted of order) if (at < items.length && identity(wanted) === items[at]) at += 1;
  if (at === items.length) return;
  throw plainError(
    `The order in patch list:\n${String(patch)}\n doesn't match $setElementOrder list:\n${String(order)}\n`,
  );
}

/** A list with `$setElementOrder`; undefined when there is no list to order. */
function orderedList(original: unknown, patch: unknown, order: unknown, rule: FieldRule | undefined): List | undefined {
  if (!Array.isArray(order)) throw notAList(order);
  if (!Array.isArray(original) && !Array.isArray(patch)) return undefined;
  const before: List = Array.isArray(original) ? original : [];
  const identity = identityBy(rule?.mergeKey);
  if (Array.isArray(patch)) checkOrder(patch, order, identity);
  const added = (): List => plainValue(patch) as List;
  const merged = !Array.isArray(patch) ? before : Array.isArray(original) ? mergeList(original, patch, rule) : added();
  return inOrder(merged, order, before, identity);
}

/** The new value of one field that both sides have; of different kinds, the patch's. */
function mergeField(original: unknown, value: unknown, rule: FieldRule | undefined): unknown {
  if (Array.isArray(original) && Array.isArray(value)) return mergeList(original, value, rule);
  if (!isObject(original) || !isObject(value)) return plainValue(value);
  return rule?.isReplaced === true ? value : mergeMap(original, value, rule?.fields ?? {});
}

function mergeMap(original: JsonObject, patch: JsonObject, fields: FieldRules): JsonObject {
  const directive = patch[patchDirective];
  if (directive === "delete") return {};
  if (directive === "replace") return without(patch, patchDirective);
  if (directive !== undefined) throw unknownDirective(directive, patch);
  const merged = retained(original, patch);
  const done = new Set<string>([retainKeysDirective]);
  for (const [key, order] of Object.entries(patch)) {
    if (!key.startsWith(orderPrefix)) continue;
    const field = key.slice(orderPrefix.length);
    const list = orderedList(merged[field], patch[field], order, fields[field]);
    done.add(key);
    if (list === undefined) continue;
    merged[field] = list;
    done.add(field);
  }
  for (const [key, value] of Object.entries(patch)) {
    if (done.has(key)) continue;
    if (key.startsWith(deletePrefix)) {
      const field = key.slice(deletePrefix.length);
      const list = merged[field];
      if (Array.isArray(list) && Array.isArray(value)) merged[field] = list.filter((item) => !value.includes(item));
    } else if (value === null) delete merged[key];
    else {
      const next = key in merged ? mergeField(merged[key], value, fields[key]) : plainValue(value);
      if (next !== undefined) merged[key] = next;
    }
  }
  return merged;
}

/**
 * The patched copy of `target`, a built-in object; nothing is changed in place. Throws 400 and 500, as the real server
 * does.
 */
export function strategicMerge(target: JsonObject, patch: JsonObject): JsonObject {
  return mergeMap(target, patch, fieldRulesOf(target["kind"]));
}
