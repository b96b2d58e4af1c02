import assert from "node:assert/strict";
import { test } from "node:test";
import { render, type Role } from "../manifest-files.ts";

interface Allowed {
  readonly name: string;
  readonly namespace: string;
  readonly text: string;
}

/** `verbs resource`, with the objects that it is limited to. */
function allowedIn(objects: readonly Role[]): readonly Allowed[] {
  return objects.flatMap(({ metadata: { name, namespace = "*" }, rules }) =>
    rules.flatMap(({ apiGroups, resources, verbs, resourceNames = [] }) =>
      resources.map((resource) => {
        const [group = ""] = apiGroups;
        const limit = resourceNames.length === 0 ? "" : ` [${resourceNames.join(",")}]`;
        const text = `${verbs.join(",")} ${resource}${group === "" ? "" : `.${group}`}${limit}`;
        return { name, namespace, text };
      }),
    ),
  );
}

function textsOf(name: string): readonly string[] {
  const roles = render("base/people").filter(({ kind }) => kind.endsWith("Role")) as Role[];
  return allowedIn(roles.filter(({ metadata }) => metadata.name === name))
    .map(({ namespace, text }) => `${namespace}: ${text}`)
    .toSorted();
}

test("podseidon-look only reads, and only what status and explain ask for", () => {
  assert.deepEqual(textsOf("podseidon-look"), [
    "*: get customresourcedefinitions.apiextensions.k8s.io [podprotectors.podseidon.kubewharf.io]",
    "*: get,list,watch podprotectors.podseidon.kubewharf.io",
    "*: list,watch events",
    "podseidon-system: get configmaps [podseidon-generator-state]",
    "podseidon-system: list deployments.apps",
    "podseidon-system: list leases.coordination.k8s.io",
  ]);
});

test("podseidon-steer writes what cells, approve and release write, and no status", () => {
  assert.deepEqual(textsOf("podseidon-steer"), [
    "*: patch podprotectors.podseidon.kubewharf.io",
    "podseidon-system: create configmaps",
    "podseidon-system: create,patch leases.coordination.k8s.io",
    "podseidon-system: patch configmaps [podseidon-generator-state]",
  ]);
});

test("nobody is bound to the roles for people by the manifests", () => {
  for (const overlay of ["core", "single-cluster", "namespace-cells", "label-cells"]) {
    const objects = render(`overlays/${overlay}`);
    assert(objects.some(({ metadata }) => metadata.name === "podseidon-look"));
    const bound = objects.filter(
      ({ kind, metadata }) => kind.endsWith("RoleBinding") && /look|steer/.test(metadata.name),
    );
    assert.deepEqual(bound, []);
  }
});
