/** What the accounts of manifests/ may do, in a simulated world: who asks for what, by the names of RBAC. */
import { type RestRequest } from "../../double/rest/rest.ts";
import { type Manifest, render } from "../../manifests/manifest-files.ts";
import { resourceName, rightsIn } from "../../manifests/rights/rights.ts";

/** "podseidon-webhook: get pods": an account, a verb and a resource. Names and namespaces are left to `make e2e`. */
export type RightText = string;

const verbs: Readonly<Record<string, string>> = { POST: "create", PUT: "update", PATCH: "patch", DELETE: "delete" };
/** Of a cell whose account is in the manifests. */
const cellAccount = "podseidon-aggregator-worker-1";

/** The right that a request needs; undefined when it is not one of a role, such as discovery. */
export function rightFor({ method, path, query, userAgent }: RestRequest, isCore: boolean): RightText | undefined {
  const [root, ...rest] = path.split("/").slice(1);
  const group = root === "api" ? "" : (rest.shift() ?? "");
  const parts = rest.slice(1);
  // A Namespace is an object, too.
  const isNamespaced = parts[0] === "namespaces" && parts.length > 2;
  const [resource, name, subresource] = isNamespaced ? parts.slice(2) : parts;
  if (resource === undefined) return undefined;
  const role = /^(webhook|generator|aggregator)/.exec(userAgent)?.[1];
  if (role === undefined) return undefined;
  const account = role === "aggregator" && isCore ? cellAccount : `podseidon-${role}`;
  const verb =
    verbs[method] ?? (query.get("watch") === "true" ? "watch" : name === undefined ? "list" : ("get" as const));
  const what = subresource === undefined ? resource : `${resource}/${subresource}`;
  return `${account}: ${verb} ${resourceName(group, what)}`;
}

/** All rights that the overlays for a fleet give. */
export function grantedRights(): readonly RightText[] {
  return [...new Set(["core", "worker"].flatMap((overlay) => textsOf(render(`overlays/${overlay}`))))];
}

/** Those that base/generator-sources adds. No scenario names other kinds of sources, but each looks for owners. */
export function rightsToFurtherSources(): readonly RightText[] {
  const core = render("overlays/core");
  const granted = new Set(textsOf(core));
  return textsOf([...core, ...render("base/generator-sources")]).filter((right) => !granted.has(right));
}

function textsOf(objects: readonly Manifest[]): readonly RightText[] {
  return rightsIn(objects).flatMap(({ account, verbs: all, resource }) =>
    all.map((verb) => `${account}: ${verb} ${resource}`),
  );
}
