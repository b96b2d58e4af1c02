/**
 * Workloads with the finalizer of the generator, and the custom kinds of a cluster by their CRDs. Of those all with a
 * subresource scale may have workloads: the generator takes no others, and which of them it was told is not known once
 * it is gone.
 */
import { asList, fieldsOf, type Json } from "../../api/json.ts";
import { apiGroup, finalizer } from "../../api/v1alpha1/names.ts";
import { type Resource } from "../../kube/kube-client.ts";
import { customResourceDefinitions } from "../../kube/resources.ts";
import { sourceKinds } from "../../sources/index.ts";
import { listed, reading } from "../clusters/reading.ts";
import { find, type Found, type Kind, type Obstacle, type Site, together } from "./target.ts";

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

/** A CRD may have a megabyte. */
const pageSize = 20;

export interface CustomKinds {
  readonly kinds: readonly Kind[];
  readonly obstacles: readonly Obstacle[];
}

/** Namespaced kinds that are served, PodProtectors left out. Rejects only for programmer errors. */
export async function readCustomKinds(
  { client, cluster, signal }: Site,
  { mustScale }: { readonly mustScale: boolean },
): Promise<CustomKinds> {
  const resource = customResourceDefinitions;
  const decode = (raw: unknown): Kind | undefined => servedKind(fieldsOf(raw), mustScale);
  const read = await reading({ cluster, verb: "list", resource, role: "cluster-admin" }, () =>
    listed(client, { resource }, decode, { signal, pageSize }),
  );
  if (read.ok) return { kinds: read.value.filter((kind) => kind.resource.group !== apiGroup), obstacles: [] };
  return { kinds: [], obstacles: [{ isFinal: read.isForbidden, problem: read.problem }] };
}

/** Of a CRD: a version that is served, of kinds that are namespaced. `mustScale`: only with a subresource scale. */
function servedKind(definition: Json, mustScale: boolean): Kind | undefined {
  const { group, scope, names, versions } = fieldsOf(definition["spec"]);
  const { plural, kind } = fieldsOf(names);
  if (scope !== "Namespaced") return undefined;
  const served = asList(versions)
    .map(fieldsOf)
    .find(
      ({ served: isServed, subresources }) => isServed === true && (!mustScale || "scale" in fieldsOf(subresources)),
    );
  if (served === undefined) return undefined;
  const resource: Resource = { group: String(group), version: String(served["name"]), resource: String(plural) };
  return { kind: String(kind), resource };
}
