/** What the RBAC objects of manifests/ allow, account by account. */
import { type Manifest, onlyOne, type PolicyRule, type Role, type RoleBinding } from "../manifest-files.ts";

/** A rule of one account, for one resource. */
export interface Right {
  readonly account: string;
  /** Where it holds; undefined = in all namespaces. */
  readonly namespace: string | undefined;
  /** Such as "pods/status" or "podprotectors.podseidon.kubewharf.io". */
  readonly resource: string;
  readonly verbs: readonly string[];
  /** Objects that it is limited to. */
  readonly names: readonly string[] | undefined;
}

/** The resource as a Right names it. */
export function resourceName(group: string, resource: string): string {
  return group === "" ? resource : `${resource}.${group}`;
}

/** All rights that bindings in `objects` give. Throws when a binding's role is not there. */
export function rightsIn(objects: readonly Manifest[]): readonly Right[] {
  const bindings = objects.filter(({ kind }) => kind.endsWith("RoleBinding")) as RoleBinding[];
  return bindings.flatMap(({ metadata: { namespace }, roleRef, subjects }) => {
    const sameScope = objects.filter(({ metadata }) => metadata.namespace === namespace);
    const { rules } = onlyOne<Role>(sameScope, roleRef.kind, roleRef.name);
    return subjects.flatMap(({ name: account }) =>
      rules.flatMap((rule) => resourcesOf(rule).map((resource) => rightOf({ account, namespace, resource, rule }))),
    );
  });
}

/** The same, as "account @ where: verbs resource [names]", sorted. */
export function rightTexts(objects: readonly Manifest[]): string[] {
  return rightsIn(objects).map(textOf).toSorted();
}

/** What roles allow, bound or not: the role stands in the account's place. */
export function roleTexts(roles: readonly Role[]): string[] {
  const rights = roles.flatMap(({ metadata: { name, namespace }, rules }) =>
    rules.flatMap((rule) => resourcesOf(rule).map((resource) => rightOf({ account: name, namespace, resource, rule }))),
  );
  return rights.map(textOf).toSorted();
}

function textOf({ account, namespace = "*", verbs, resource, names }: Right): string {
  const limit = names === undefined ? "" : ` [${names.join(",")}]`;
  return `${account} @ ${namespace}: ${verbs.join(",")} ${resource}${limit}`;
}

function resourcesOf({ apiGroups, resources }: PolicyRule): readonly string[] {
  return apiGroups.flatMap((group) => resources.map((resource) => resourceName(group, resource)));
}

function rightOf({ rule, ...where }: Pick<Right, "account" | "namespace" | "resource"> & { rule: PolicyRule }): Right {
  return { ...where, verbs: rule.verbs, names: rule.resourceNames };
}
