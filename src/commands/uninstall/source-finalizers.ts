/**
 * Workloads with the finalizer of the generator. Custom kinds are all those with a subresource scale: the generator
 * takes no others, and which of them it was told is not known once it is gone.
 */
import { asList, fieldsOf, type Json } from "../../api/json.ts";
import { finalizer } from "../../api/v1alpha1/names.ts";
import { sourceKinds } from "../../sources/index.ts";
import { readCustomKinds } from "./custom-kinds.ts";
import { find, type Found, type Kind, type Site, together } from "./target.ts";

/** Those of all kinds. Rejects only for programmer errors. */
export async function findGuardedSources(site: Site): Promise<Found> {
  const custom = await readCustomKinds(site, { mustScale: true });
  const kinds = distinct([...sourceKinds.filter(({ isNeverWritten }) => isNeverWritten !== true), ...custom.kinds]);
  const found: Found[] = [{ targets: [], obstacles: custom.obstacles }];
  // One after the other: a page of each has megabytes.
  for (const kind of kinds) found.push(await find(site, kind, hasFinalizer));
  return together(found);
}

function hasFinalizer(raw: Json): boolean {
  return asList(fieldsOf(raw["metadata"])["finalizers"]).includes(finalizer);
}

/** The first of each resource: some built-in kinds are custom resources, too. */
function distinct(kinds: readonly Kind[]): readonly Kind[] {
  const byResource = new Map<string, Kind>();
  for (const one of kinds) {
    const key = `${one.resource.resource}.${one.resource.group}`;
    if (!byResource.has(key)) byResource.set(key, one);
  }
  return [...byResource.values()];
}
