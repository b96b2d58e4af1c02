/** What a method and path of the Kubernetes API mean, and the verb that authorization knows it by. */
import { type ResourceRegistry, type ResourceType } from "../engine/resources.ts";
import { methodNotAllowed, noSuchResource, notImplemented } from "../engine/status.ts";

export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "deletecollection";

export interface Route {
  readonly verb: Verb;
  readonly type: ResourceType;
  readonly namespace: string | undefined;
  /** Undefined for collections. */
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

const verbOfMethod: Readonly<Record<string, Verb>> = {
  GET: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

function verbOf(method: string, named: boolean, watch: boolean): Verb {
  const verb = verbOfMethod[method];
  if (verb === undefined || (!named && (method === "PUT" || method === "PATCH"))) {
    throw methodNotAllowed();
  }
  if (named) return verb;
  if (method === "GET") return watch ? "watch" : "list";
  return method === "DELETE" ? "deletecollection" : verb;
}

/**
 * Splits `/api/v1/…` and `/apis/group/version/…`. Throws 404 for what is not served and 405 for methods that do not
 * exist there.
 */
export function parseRoute(registry: ResourceRegistry, method: string, path: string, watch: boolean): Route {
  const parts = path
    .split("/")
    .filter((part) => part !== "")
    .map(decodeURIComponent);
  const rest = parts[0] === "api" ? parts.slice(2) : parts.slice(3);
  const [group, version] = parts[0] === "api" ? ["", parts[1]] : [parts[1], parts[2]];
  if ((parts[0] !== "api" && parts[0] !== "apis") || group === undefined || version === undefined)
    throw noSuchResource();
  if (rest[0] === "watch") throw notImplemented("the former paths of watches");
  // A namespace is an object of its own, and the scope of what follows it.
  const scoped = rest[0] === "namespaces" && rest.length > 2 && !["status", "finalize"].includes(rest[2]!);
  const namespace = scoped ? rest[1] : undefined;
  const [resource, name, subresource, ...more] = scoped ? rest.slice(2) : rest;
  const type = resource === undefined ? undefined : registry.find(group, version, resource);
  if (type === undefined || more.length > 0) throw noSuchResource();
  if (scoped && !type.namespaced) throw noSuchResource();
  if (name !== undefined && type.namespaced && namespace === undefined) throw noSuchResource();
  const verb = verbOf(method, name !== undefined, watch);
  if (verb === "create" && type.namespaced && namespace === undefined) {
    throw methodNotAllowed();
  }
  // A subresource is created by POST on a name; anything else is posted to the collection.
  if (verb === "create" && name !== undefined && subresource === undefined) {
    throw methodNotAllowed();
  }
  return { verb, type, namespace, name, subresource };
}
