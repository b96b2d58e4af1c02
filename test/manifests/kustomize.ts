/**
 * What kustomize does to objects beside patches, as far as ours need it: replacements and suffixes of names. For
 * manifest-files.ts.
 */
import { assert } from "../../src/util/assert.ts";

interface Named {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}
interface Binding extends Named {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects: readonly { readonly kind: string; readonly name: string }[];
}

export interface Replacement {
  readonly source: { readonly kind: string; readonly name: string; readonly fieldPath: string };
  readonly targets: readonly {
    readonly select: { readonly kind: string; readonly name: string };
    readonly fieldPaths: readonly string[];
    readonly options?: { readonly delimiter: string; readonly index: number };
  }[];
}

interface Place {
  readonly holder: Record<string | number, unknown>;
  readonly key: string | number;
}

/** Writes into `objects`. Throws when a source or target is not there, as kustomize does. */
export function replaceIn(objects: readonly Named[], { source, targets }: Replacement): void {
  const [from] = objects.filter(isOf(source)).flatMap((object) => placesOf(object, source.fieldPath));
  const value = from?.holder[from.key];
  assert(typeof value === "string", `nothing to replace by: ${JSON.stringify(source)}`);
  for (const { select, fieldPaths, options } of targets) {
    const places = objects.filter(isOf(select)).flatMap((object) => fieldPaths.flatMap((one) => placesOf(object, one)));
    assert(places.length > 0, `nothing to replace: ${JSON.stringify(select)} ${fieldPaths.join(" ")}`);
    for (const { holder, key } of places) holder[key] = replaced(String(holder[key]), value, options);
  }
}

function isOf({ kind, name }: { readonly kind: string; readonly name: string }) {
  return (object: Named): boolean => object.kind === kind && object.metadata.name === name;
}

function replaced(text: string, value: string, options?: { readonly delimiter: string; readonly index: number }) {
  if (options === undefined) return value;
  return text.split(options.delimiter).with(options.index, value).join(options.delimiter);
}

/** Segments are names, `*`, `[name=value]` for objects in a list, or `[=value]` for the texts in one. */
function placesOf(object: Named, fieldPath: string): readonly Place[] {
  const segments = fieldPath.match(/\[[^\]]*\]|[^.[]+/g) ?? [];
  let places: readonly Place[] = [{ holder: { object }, key: "object" }];
  for (const segment of segments)
    places = places.flatMap(({ holder, key }) => placesIn(holder[key] as Place["holder"], segment));
  return places;
}

function placesIn(holder: Place["holder"], segment: string): readonly Place[] {
  const [, field, value] = /^\[([^=]*)=(.*)\]$/.exec(segment) ?? [];
  if (field === undefined && segment !== "*") return holder[segment] === undefined ? [] : [{ holder, key: segment }];
  assert(Array.isArray(holder), `${segment} is not in a list`);
  const items: readonly unknown[] = holder;
  const isMeant = (item: unknown): boolean =>
    segment === "*" || (field === "" ? item : (item as Record<string, unknown>)[field ?? ""]) === value;
  return items.flatMap((item, key) => (isMeant(item) ? [{ holder, key }] : []));
}

/** Ends the names of `objects` with `suffix`, and what refers to one of them. */
export function withSuffix<Object extends Named>(objects: readonly Object[], suffix: string): Object[] {
  const isOwn = (kind: string, name: string): boolean => objects.some(isOf({ kind, name }));
  const renamed = <Reference extends { readonly kind: string; readonly name: string }>(to: Reference): Reference =>
    isOwn(to.kind, to.name) ? { ...to, name: to.name + suffix } : to;
  return objects.map((object) => {
    const named = { ...object, metadata: { ...object.metadata, name: object.metadata.name + suffix } };
    if (!object.kind.endsWith("RoleBinding")) return named;
    const { roleRef, subjects } = object as Object & Binding;
    return { ...named, roleRef: renamed(roleRef), subjects: subjects.map(renamed) };
  });
}
