import assert from "node:assert/strict";
import { test } from "node:test";
import { render, type Role } from "../manifest-files.ts";
import { roleTexts } from "./rights.ts";

function textsOf(name: string): readonly string[] {
  const roles = render("base/people").filter(({ kind }) => kind.endsWith("Role")) as Role[];
  return roleTexts(roles.filter(({ metadata }) => metadata.name === name));
}

test("podseidon-look only reads, and only what status and explain ask for", () => {
  assert.deepEqual(textsOf("podseidon-look"), [
    "podseidon-look @ *: get customresourcedefinitions.apiextensions.k8s.io [podprotectors.podseidon.kubewharf.io]",
    "podseidon-look @ *: get,list,watch podprotectors.podseidon.kubewharf.io",
    "podseidon-look @ *: list,watch events",
    "podseidon-look @ podseidon-system: get configmaps [podseidon-generator-state]",
    "podseidon-look @ podseidon-system: list deployments.apps",
    "podseidon-look @ podseidon-system: list leases.coordination.k8s.io",
  ]);
});

test("podseidon-steer writes what cells, approve and release write, and no status", () => {
  assert.deepEqual(textsOf("podseidon-steer"), [
    "podseidon-steer @ *: patch podprotectors.podseidon.kubewharf.io",
    "podseidon-steer @ podseidon-system: create configmaps",
    "podseidon-steer @ podseidon-system: create,patch leases.coordination.k8s.io",
    "podseidon-steer @ podseidon-system: patch configmaps [podseidon-generator-state]",
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
