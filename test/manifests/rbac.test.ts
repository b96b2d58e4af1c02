import assert from "node:assert/strict";
import { test } from "node:test";
import { type Manifest, onlyOne, render, type Role, type RoleBinding } from "./manifest-files.ts";

/** All rights, as "account @ where: verbs resource [names]". Whoever widens one has to widen it here too. */
const clusterRights = {
  core: [
    "podseidon-aggregator @ *: create,patch events",
    "podseidon-aggregator @ *: get,list,watch podprotectors.podseidon.kubewharf.io",
    "podseidon-aggregator @ *: update podprotectors/status.podseidon.kubewharf.io",
    "podseidon-generator @ *: create,patch events",
    "podseidon-generator @ *: get,list,watch,create,patch,delete podprotectors.podseidon.kubewharf.io",
    "podseidon-generator @ *: get,list,watch,patch deployments.apps",
    "podseidon-generator @ *: update podprotectors/status.podseidon.kubewharf.io",
    "podseidon-generator @ podseidon-system: create leases.coordination.k8s.io",
    "podseidon-generator @ podseidon-system: get,update leases.coordination.k8s.io [podseidon-generator]",
    "podseidon-webhook @ *: create,patch events",
    "podseidon-webhook @ *: get,list,watch podprotectors.podseidon.kubewharf.io",
    "podseidon-webhook @ *: update podprotectors/status.podseidon.kubewharf.io",
  ],
  worker: [
    "podseidon-aggregator @ *: get,list,watch pods",
    "podseidon-aggregator @ *: patch pods/status",
    "podseidon-aggregator @ podseidon-system: create leases.coordination.k8s.io",
    "podseidon-aggregator @ podseidon-system: get,update leases.coordination.k8s.io [podseidon-aggregator]",
    "podseidon-aggregator @ podseidon-update-trigger: create pods",
    "podseidon-aggregator @ podseidon-update-trigger: patch pods [podseidon-update-trigger]",
    "podseidon-webhook @ *: get pods",
  ],
} as const;

function rightsIn(objects: readonly Manifest[]): string[] {
  const bindings = objects.filter(({ kind }) => kind.endsWith("RoleBinding")) as RoleBinding[];
  return bindings
    .flatMap(({ metadata, roleRef, subjects }) => {
      const role = onlyOne<Role>(
        objects.filter((object) => object.metadata.namespace === metadata.namespace),
        roleRef.kind,
        roleRef.name,
      );
      return subjects.flatMap((subject) =>
        role.rules.flatMap(({ apiGroups, resources, resourceNames, verbs }) =>
          resources.flatMap((resource) =>
            apiGroups.map((group) => {
              const what = group === "" ? resource : `${resource}.${group}`;
              const names = resourceNames === undefined ? "" : ` [${resourceNames.join(",")}]`;
              return `${subject.name} @ ${metadata.namespace ?? "*"}: ${verbs.join(",")} ${what}${names}`;
            }),
          ),
        ),
      );
    })
    .toSorted();
}

for (const cluster of ["core", "worker"] as const) {
  test(`in a ${cluster} cluster each account has exactly the rights of the table`, () => {
    assert.deepEqual(rightsIn(render(`overlays/${cluster}`)), clusterRights[cluster]);
  });
}

test("in a single cluster the accounts have the rights of core and worker together", () => {
  assert.deepEqual(
    rightsIn(render("overlays/single-cluster")),
    [...clusterRights.core, ...clusterRights.worker].toSorted(),
  );
});

test("a role without binding does not exist, and neither does a binding for an absent account", () => {
  for (const overlay of ["single-cluster", "core", "worker"]) {
    const objects = render(`overlays/${overlay}`);
    const bindings = objects.filter(({ kind }) => kind.endsWith("RoleBinding")) as RoleBinding[];
    const bound = new Set(
      bindings.map(({ metadata, roleRef }) => `${metadata.namespace} ${roleRef.kind} ${roleRef.name}`),
    );
    for (const { kind, metadata } of objects.filter(({ kind }) => kind === "Role" || kind === "ClusterRole"))
      assert.ok(bound.has(`${metadata.namespace} ${kind} ${metadata.name}`), `${overlay}: ${metadata.name} is bound`);
    for (const { subjects } of bindings)
      for (const subject of subjects)
        assert.equal(onlyOne(objects, subject.kind, subject.name).metadata.namespace, subject.namespace);
  }
});

test("the update-trigger of its own uses the role that the aggregator's right to the dummy pod comes from", () => {
  const objects = [...render("overlays/worker"), ...render("base/update-trigger")];
  assert.deepEqual(
    rightsIn(objects).filter((right) => right.startsWith("podseidon-update-trigger")),
    [
      "podseidon-update-trigger @ podseidon-update-trigger: create pods",
      "podseidon-update-trigger @ podseidon-update-trigger: patch pods [podseidon-update-trigger]",
    ],
  );
});
