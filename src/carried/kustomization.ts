/**
 * Kustomizations of manifests/ as the program renders them: resources, and components with their JSON patches. What
 * else kustomize can do is not needed for the components that are carried.
 */
import path from "node:path";
import { load, loadAll } from "js-yaml";
import { asList, fieldsOf, type Json } from "../api/json.ts";
import { assert } from "../util/assert.ts";
import { readCarried } from "./files.ts";

/** The objects of folders of manifests/, each of which may patch those of the ones before it: "components/core". */
export function rendered(...folders: readonly string[]): readonly Json[] {
  return folders.reduce<readonly Json[]>((before, folder) => added(before, `manifests/${folder}`), []);
}

function added(before: readonly Json[], folder: string): readonly Json[] {
  const { resources, patches } = fieldsOf(load(readCarried(`${folder}/kustomization.yaml`)));
  const own = asList(resources).flatMap((resource) => {
    const name = path.posix.join(folder, String(resource));
    return name.endsWith(".yaml") ? documentsIn(name) : added([], name);
  });
  const objects = [...before, ...own];
  for (const { target, patch } of asList(patches).map(fieldsOf)) {
    const { kind, name } = fieldsOf(target);
    const object = objects.find((one) => one["kind"] === kind && fieldsOf(one["metadata"])["name"] === name);
    const doesFit = asList(load(String(patch))).every((operation) => change(object, operation as Operation));
    assert(doesFit, `${folder}: a patch of ${String(kind)} ${String(name)} does not fit`);
  }
  return objects;
}

/** What an alias repeats is a copy, as kubectl has it: a patch changes one of them. */
function documentsIn(file: string): readonly Json[] {
  return JSON.parse(JSON.stringify(loadAll(readCarried(file)))) as Json[];
}

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
}

/**
 * Carries out an operation of RFC 6902, of those that the manifests have; false = it does not fit. rfc6902, by which
 * the tests do it, comes without the text of its licence, so that it cannot be handed on.
 */
function change(object: unknown, { op, path: pointer, value }: Operation): boolean {
  const [, ...keys] = pointer.split("/");
  const last = keys.pop() ?? "";
  const place = keys.reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], object);
  if (typeof place !== "object" || place === null) return false;
  const at = last === "-" && Array.isArray(place) ? String(place.length) : last;
  const fields = place as Record<string, unknown>;
  if (op !== "add" && !(at in fields)) return false;
  if (op === "test") return JSON.stringify(fields[at]) === JSON.stringify(value);
  if (Array.isArray(place)) place.splice(Number(at), op === "add" ? 0 : 1, ...(op === "remove" ? [] : [value]));
  else if (op === "remove") Reflect.deleteProperty(fields, at);
  else fields[at] = value;
  return op === "add" || op === "remove" || op === "replace";
}
