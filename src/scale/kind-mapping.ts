/** Where the objects of a kind are found, as discovery documents of an API server say it. Pure. */
import { asList, asObject, fieldsOf } from "../api/json.ts";
import { type Resource } from "../kube/kube-client.ts";

export interface KindMapping {
  readonly resource: Resource;
  readonly kind: string;
  readonly isNamespaced: boolean;
  /** There is a subresource "scale" that is a Scale, and can be read. */
  readonly hasScale: boolean;
}

/** Groups whose Scale the disruption controller accepts; only very old servers have the last two. */
const scaleGroups: ReadonlySet<unknown> = new Set(["autoscaling", "extensions", "apps"]);

/** Group and version of an apiVersion; undefined when it is none. */
export function groupVersionOf(apiVersion: string): { readonly group: string; readonly version: string } | undefined {
  const [first = "", second, ...more] = apiVersion.split("/");
  if (first === "" || second === "" || more.length > 0) return undefined;
  return second === undefined ? { group: "", version: first } : { group: first, version: second };
}

/** The kinds of an APIResourceList; undefined when it is none. What is not understood in it is left out. */
export function readResourceList(raw: unknown, group: string, version: string): readonly KindMapping[] | undefined {
  const resources = asObject(raw)?.["resources"];
  if (!Array.isArray(resources)) return undefined;
  const entries = asList(resources).map(fieldsOf);
  const scaled = new Set(entries.filter(isScale).map(({ name }) => name));
  return entries.flatMap(({ name, kind, namespaced }) => {
    // Names with a slash are subresources.
    if (typeof name !== "string" || typeof kind !== "string" || name.includes("/")) return [];
    const resource = { group, version, resource: name };
    return [{ resource, kind, isNamespaced: namespaced === true, hasScale: scaled.has(`${name}/scale`) }];
  });
}

function isScale({ name, kind, group, verbs }: Readonly<Record<string, unknown>>): boolean {
  if (typeof name !== "string" || !name.endsWith("/scale") || kind !== "Scale") return false;
  // A list without verbs is that of an old server, which left them out.
  return scaleGroups.has(group) && (verbs === undefined || asList(verbs).includes("get"));
}

/** The versions of an APIGroup, the preferred one first; undefined when it is none. */
export function readGroup(raw: unknown): readonly string[] | undefined {
  const { versions, preferredVersion } = fieldsOf(raw);
  if (!Array.isArray(versions)) return undefined;
  const named = [preferredVersion, ...asList(versions)].map((one) => fieldsOf(one)["version"]);
  return [...new Set(named.filter((version) => typeof version === "string" && version !== ""))] as string[];
}
