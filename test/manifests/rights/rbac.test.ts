import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { cellLeaseName } from "../../../src/api/cell-lease.ts";
import { sourceIDs } from "../../../src/config/generator-rules.ts";
import { sourceKindOf } from "../../../src/sources/index.ts";
import {
  filesBelow,
  type Manifest,
  manifestsFolder,
  onlyOne,
  readManifests,
  render,
  type Role,
  type RoleBinding,
} from "../manifest-files.ts";
import { rightTexts } from "./rights.ts";

/** The sections of rights.txt. */
function rightsOf(section: "core" | "worker" | "own core"): readonly string[] {
  const text = readFileSync(path.join(import.meta.dirname, "rights.txt"), "utf8");
  const lines = text.split(`[${section}]\n`)[1]!.split("\n\n")[0]!.trimEnd().split("\n");
  return lines.map((line) => line.replace("LEASE-OF-WORKER-1", cellLeaseName("worker-1")));
}

function isRole(object: Manifest): object is Role {
  return object.kind === "Role" || object.kind === "ClusterRole";
}

/** Whether Kubernetes adds the role to those that people have. */
function isAggregated({ metadata }: Pick<Manifest, "metadata">): boolean {
  return Object.keys(metadata.labels ?? {}).some((label) =>
    label.startsWith("rbac.authorization.k8s.io/aggregate-to-"),
  );
}

/** Bound by whoever installs Podseidon, if at all. */
function isForPeople({ metadata }: Pick<Manifest, "metadata">): boolean {
  return isAggregated({ metadata }) || metadata.labels?.["app.kubernetes.io/component"] === "people";
}

for (const cluster of ["core", "worker"] as const) {
  test(`in a ${cluster} cluster each account has exactly the rights of the table`, () => {
    assert.deepEqual(rightTexts(render(`overlays/${cluster}`)), rightsOf(cluster));
  });
}

test("in a single cluster the accounts have the rights of core and worker together", () => {
  const others = rightsOf("core").filter((right) => !right.startsWith("podseidon-aggregator-worker-1"));
  assert.deepEqual(
    rightTexts(render("overlays/single-cluster")),
    [...rightsOf("own core"), ...others, ...rightsOf("worker")].toSorted(),
  );
});

test("nobody but Podseidon's accounts may write the status of a PodProtector, and people may only view", () => {
  const files = filesBelow(manifestsFolder, ".yaml").flatMap(readManifests).filter(isRole);
  assert.ok(files.length > 10);
  const bound = new Set(
    filesBelow(manifestsFolder, ".yaml")
      .flatMap(readManifests)
      .filter((one): one is RoleBinding => one.kind.endsWith("RoleBinding"))
      .map(({ roleRef }) => roleRef.name),
  );
  const forPeople = files.filter(isAggregated);
  assert.deepEqual(
    forPeople.map(({ metadata, rules }) => [metadata.name, rules]),
    [
      [
        "podseidon-view",
        [{ apiGroups: ["podseidon.kubewharf.io"], resources: ["podprotectors"], verbs: ["get", "list", "watch"] }],
      ],
    ],
  );
  const roles = ["view", "edit", "admin"].map((role) => `rbac.authorization.k8s.io/aggregate-to-${role}`);
  assert.deepEqual(
    roles.map((label) => forPeople[0]?.metadata.labels?.[label]),
    ["true", "true", "true"],
  );
  for (const { metadata, rules } of files) {
    for (const { apiGroups, resources, verbs } of rules) {
      const all = [...apiGroups, ...resources, ...verbs];
      assert.ok(!all.includes("*") && !resources.includes("*/status"), `${metadata.name} has a wildcard`);
    }
    if (!bound.has(metadata.name)) assert.ok(isForPeople({ metadata }), `${metadata.name} is for people`);
  }
});

test("a role without binding does not exist, and neither does a binding for an absent account", () => {
  for (const overlay of ["single-cluster", "core", "worker", "namespace-cells", "label-cells"]) {
    const objects = render(`overlays/${overlay}`);
    const bindings = objects.filter(({ kind }) => kind.endsWith("RoleBinding")) as RoleBinding[];
    const bound = new Set(
      bindings.map(({ metadata, roleRef }) => `${metadata.namespace} ${roleRef.kind} ${roleRef.name}`),
    );
    for (const { kind, metadata } of objects.filter(isRole).filter((role) => !isForPeople(role)))
      assert.ok(bound.has(`${metadata.namespace} ${kind} ${metadata.name}`), `${overlay}: ${metadata.name} is bound`);
    for (const { subjects } of bindings)
      for (const subject of subjects)
        assert.equal(onlyOne(objects, subject.kind, subject.name).metadata.namespace, subject.namespace);
  }
});

test("the update-trigger of its own uses the role that the aggregator's right to the dummy pod comes from", () => {
  const objects = [...render("overlays/worker"), ...render("base/update-trigger")];
  assert.deepEqual(
    rightTexts(objects).filter((right) => right.startsWith("podseidon-update-trigger")),
    [
      "podseidon-update-trigger @ podseidon-update-trigger: create pods",
      "podseidon-update-trigger @ podseidon-update-trigger: delete pods [podseidon-update-trigger]",
      "podseidon-update-trigger @ podseidon-update-trigger: patch pods [podseidon-update-trigger]",
    ],
  );
});

test("the rights to further kinds of sources are those to Deployments, or less", () => {
  const objects = [...render("overlays/core"), ...render("base/generator-sources")];
  const core = rightsOf("core");
  assert.deepEqual(
    rightTexts(objects).filter((right) => !core.includes(right)),
    sourceIDs
      .filter((id) => id !== "deployments.apps")
      .map((id) => `get,list,watch${sourceKindOf(id).isNeverWritten === true ? "" : ",patch"} ${id}`)
      .concat("list,watch pods")
      .concat(
        ["clonesets/scale.apps.kruise.io", "statefulsets/scale.apps.kruise.io", "rollouts/scale.argoproj.io"].map(
          (scale) => `get ${scale}`,
        ),
      )
      .map((right) => `podseidon-generator @ *: ${right}`)
      .concat(
        sourceIDs
          .filter((id) => id !== "deployments.apps" && sourceKindOf(id).isNeverWritten !== true)
          .map((id) => `podseidon-webhook @ *: list ${id}`),
      )
      .toSorted(),
  );
});

test("the aggregator of a namespace has rights in it alone, and to its own Leases", () => {
  const objects = render("overlays/namespace-cells");
  for (const cell of ["team-a", "team-b"]) {
    const account = `podseidon-aggregator-${cell}`;
    assert.deepEqual(
      rightTexts(objects).filter((right) => right.startsWith(`${account} @`)),
      [
        `${account} @ kube-system: get namespaces [kube-system]`,
        `${account} @ podseidon-system: create leases.coordination.k8s.io`,
        `${account} @ podseidon-system: create,patch events`,
        `${account} @ podseidon-system: get,patch leases.coordination.k8s.io [${cellLeaseName(cell)}]`,
        `${account} @ podseidon-system: get,update leases.coordination.k8s.io [${account}]`,
        `${account} @ ${cell}: create pods`,
        `${account} @ ${cell}: get,list,watch podprotectors.podseidon.kubewharf.io`,
        `${account} @ ${cell}: list,watch pods`,
        `${account} @ ${cell}: patch pods/status`,
        `${account} @ ${cell}: patch,delete pods [podseidon-update-trigger]`,
        `${account} @ ${cell}: update podprotectors/status.podseidon.kubewharf.io`,
      ],
    );
  }
});

test("the aggregators of cells by label share the account of a single cluster, with names of their own", () => {
  const rights = rightTexts(render("overlays/label-cells"));
  for (const right of [
    "podseidon-aggregator @ podseidon-system: get,update leases.coordination.k8s.io " +
      "[podseidon-aggregator-blue,podseidon-aggregator-green]",
    "podseidon-aggregator @ podseidon-update-trigger: patch pods " +
      "[podseidon-update-trigger-blue,podseidon-update-trigger-green]",
    "podseidon-aggregator @ podseidon-update-trigger: delete pods " +
      "[podseidon-update-trigger-blue,podseidon-update-trigger-green]",
  ])
    assert.ok(rights.includes(right), right);
  assert.equal(rights.length, rightTexts(render("overlays/single-cluster")).length);
});
