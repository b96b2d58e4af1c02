/** /version, health and discovery documents: enough for client libraries and kubectl to find their way. */
import { type JsonObject } from "../engine/object.ts";
import { type ResourceRegistry, type ResourceType, apiVersionOf } from "../engine/resources.ts";

const version = {
  major: "1",
  minor: "36",
  gitVersion: "v1.36.3-double",
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "none",
  compiler: "none",
  platform: "double",
};

const allVerbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

function apiResources(type: ResourceType): JsonObject[] {
  const { resource, singular, kind, namespaced, shortNames, categories } = type;
  const entry = {
    name: resource,
    singularName: singular,
    namespaced,
    kind,
    verbs: allVerbs,
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
  };
  const sub = (
    name: string,
    subKind: string,
    group: string,
    subVersion: string,
    verbs: readonly string[],
  ): JsonObject => ({
    name: `${resource}/${name}`,
    singularName: "",
    namespaced,
    ...(subKind === kind ? {} : { group, version: subVersion }),
    kind: subKind,
    verbs,
  });
  const found: JsonObject[] = [entry];
  if (type.hasStatus) found.push(sub("status", kind, "", "", ["get", "patch", "update"]));
  if (type.subresources.includes("scale")) {
    found.push(sub("scale", "Scale", "autoscaling", "v1", ["get", "patch", "update"]));
  }
  if (type.subresources.includes("eviction")) found.push(sub("eviction", "Eviction", "policy", "v1", ["create"]));
  if (type.subresources.includes("binding")) found.push(sub("binding", "Binding", "", "v1", ["create"]));
  return found;
}

function resourceList(registry: ResourceRegistry, groupVersion: string): JsonObject | undefined {
  const served = registry.all().filter((type) => apiVersionOf(type) === groupVersion);
  if (served.length === 0) return undefined;
  return { kind: "APIResourceList", apiVersion: "v1", groupVersion, resources: served.flatMap(apiResources) };
}

function groupOf(registry: ResourceRegistry, name: string): JsonObject | undefined {
  const versions = [
    ...new Set(
      registry
        .all()
        .filter((type) => type.group === name)
        .map((type) => type.version),
    ),
  ];
  if (versions.length === 0) return undefined;
  const entries = versions.map((item) => ({ groupVersion: `${name}/${item}`, version: item }));
  return { name, versions: entries, preferredVersion: entries[0] };
}

/** The answer to a path outside the resources: a text or a JSON document; undefined when there is none. */
export function discover(registry: ResourceRegistry, path: string): string | JsonObject | undefined {
  const parts = path.split("/").filter((part) => part !== "");
  const [root, group, groupVersion] = parts;
  if (root === "version" && parts.length === 1) return version;
  if (root === "healthz" || root === "readyz" || root === "livez") return "ok";
  if (root === "api" && parts.length === 1) {
    return { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] };
  }
  if (root === "api" && parts.length === 2) return resourceList(registry, group!);
  if (root !== "apis") return undefined;
  if (parts.length === 1) {
    const names = [
      ...new Set(
        registry
          .all()
          .map((type) => type.group)
          .filter((name) => name !== ""),
      ),
    ];
    return { kind: "APIGroupList", apiVersion: "v1", groups: names.map((name) => groupOf(registry, name)) };
  }
  if (parts.length === 2) {
    const found = groupOf(registry, group!);
    return found === undefined ? undefined : { kind: "APIGroup", apiVersion: "v1", ...found };
  }
  return parts.length === 3 ? resourceList(registry, `${group}/${groupVersion}`) : undefined;
}
