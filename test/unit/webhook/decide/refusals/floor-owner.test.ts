import assert from "node:assert/strict";
import { test } from "node:test";
import { sourceLabels } from "../../../../../src/api/v1alpha1/names.ts";
import { type Condition, type PodProtector } from "../../../../../src/api/v1alpha1/pod-protector.ts";
import { planFor, protectorTypeMeta } from "../../../../../src/generator/sources/source-plan.ts";
import { deployments } from "../../../../../src/sources/deployment.ts";
import { readSource } from "../../../../../src/sources/read-source.ts";
import { floorOwnerOf, workloadOf } from "../../../../../src/webhook/decide/refusals/floor-owner.ts";
import { cell, deleteReview, pod, protector } from "../../support/objects.ts";
import { world } from "../../support/replica.ts";

/** The PodProtector that the generator makes for a Deployment of that name. */
function generated(name: string, metadata: object = {}, conditions: readonly Condition[] = []): PodProtector {
  const source = readSource(deployments, {
    metadata: { name, namespace: "shop", uid: "d-1", resourceVersion: "1" },
    spec: { replicas: 2, selector: {} },
  });
  const rule = { percentRounding: "at-least-one", singleReplica: "drainable" } as const;
  const { ownerReference, finalizer, labels, ...plan } = planFor(source!, rule);
  const owned = { labels, finalizers: [finalizer], ownerReferences: [ownerReference] };
  const summary = { totalReplicas: 0, aggregatedAvailableReplicas: 0, estimatedAvailableReplicas: 0 };
  return {
    ...protectorTypeMeta,
    metadata: { name: plan.name, namespace: "shop", uid: "p-1", resourceVersion: "1", ...owned, ...metadata },
    spec: plan.spec,
    status: { cells: [], summary, conditions },
  };
}

function condition(type: string, status: Condition["status"]): Condition {
  return { type, status, reason: "R", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" };
}

test("the owner of a generated PodProtector is its Deployment, with the fields that set the floor", () => {
  assert.deepEqual(floorOwnerOf(generated("web")), {
    name: "Deployment shop/web",
    fields: "spec.replicas and spec.strategy.rollingUpdate.maxUnavailable",
    overrides: "its annotation podseidon.kubewharf.io/min-available or podseidon.kubewharf.io/max-unavailable",
    undone: "edits of the PodProtector",
    hasVanished: false,
    isUndrainable: false,
    restart: "kubectl -n shop rollout restart deployment web",
  });
});

test("only the names of a Deployment are put into a command", () => {
  assert.equal(floorOwnerOf(generated("web;reboot", { ownerReferences: undefined }))?.restart, undefined);
  const labels = { [sourceLabels.group]: "apps", [sourceLabels.kind]: "StatefulSet", [sourceLabels.name]: "db" };
  assert.equal(floorOwnerOf(generated("web", { labels }))?.restart, undefined);
});

test("the workload of a generated PodProtector is its owner, by its whole name and UID", () => {
  assert.deepEqual(workloadOf(generated("web")), {
    apiVersion: "apps/v1",
    kind: "Deployment",
    name: "web",
    uid: "d-1",
  });
  for (const metadata of [{ labels: {} }, { finalizers: [] }, { ownerReferences: undefined }])
    assert.equal(workloadOf(generated("web", metadata)), undefined);
});

test("each kind of source has fields of its own, and a kind that is not known has its spec", () => {
  const fieldsOf = (group: string, kind: string) => {
    const labels = { [sourceLabels.group]: group, [sourceLabels.kind]: kind, [sourceLabels.name]: "db" };
    return floorOwnerOf(generated("web", { labels }))?.fields;
  };
  assert.deepEqual(
    [fieldsOf("apps", "StatefulSet"), fieldsOf("", "ReplicationController"), fieldsOf("example.com", "StatefulSet")],
    ["spec.replicas and spec.updateStrategy.rollingUpdate.maxUnavailable", "spec.replicas", "its spec"],
  );
});

test("a name too long for a label is taken from the owner reference", () => {
  const name = "w".repeat(200);
  assert.equal(floorOwnerOf(generated(name))?.name, `Deployment shop/${name}`);
  assert.match(floorOwnerOf(generated("web", { ownerReferences: undefined }))?.name ?? "", /^Deployment shop\/web$/);
});

test("a hand-made PodProtector has no owner, nor has one with the finalizer or the labels alone", () => {
  assert.equal(floorOwnerOf(generated("web", { labels: undefined, finalizers: undefined })), undefined);
  assert.equal(floorOwnerOf(generated("web", { labels: {} })), undefined);
  assert.equal(floorOwnerOf(generated("web", { finalizers: ["other.example/x"] })), undefined);
});

test("what the generator has found about the owner is read from the conditions that are true", () => {
  const owner = (...conditions: Condition[]) => floorOwnerOf(generated("web", {}, conditions));
  assert.equal(owner(condition("Dangling", "True"))?.hasVanished, true);
  assert.equal(owner(condition("Dangling", "False"))?.hasVanished, false);
  assert.equal(owner(condition("Dangling", "False"), condition("Undrainable", "True"))?.isUndrainable, true);
});

test("odd owner references and control characters in labels are no trouble", () => {
  for (const ownerReferences of [null, "x", 7, [null, 7, { kind: "Deployment" }, { kind: "Deployment", name: 7 }]])
    assert.equal(floorOwnerOf(generated("web", { ownerReferences }))?.name, "Deployment shop/web");
  const labels = { "podseidon.kubewharf.io/source-kind": "Dep\u{9b}31mloyment" };
  assert.equal(floorOwnerOf(generated("web", { labels, ownerReferences: [] }))?.name, "Dep?31mloyment shop/");
});

test("a review that a generated PodProtector refuses is told the owner, before and after a reservation", async () => {
  const { metadata } = generated("web", { namespace: "ns" });
  const object = protector({ minAvailable: 3, cells: [cell("c1", 3)] });
  const { replica } = world([{ ...object, metadata: { ...(object["metadata"] as object), ...ownMarks(metadata) } }]);
  const answer = await replica.review(deleteReview(pod("p")));
  assert.match(
    JSON.stringify(answer.body),
    /The floor is set by .* of Deployment ns\/web, or by its annotation .*; edits of the PodProtector/,
  );
});

function ownMarks({ labels, finalizers, ownerReferences }: PodProtector["metadata"]): object {
  return { labels, finalizers, ownerReferences };
}

test("of kinds with one name the owner is the one of the right group, and a custom one is named with its group", () => {
  const advanced = { apiVersion: "apps.kruise.io/v1beta1", kind: "StatefulSet", name: "advanced", uid: "1" };
  const builtIn = { apiVersion: "apps/v1", kind: "StatefulSet", name: "built-in", uid: "2" };
  const nameOf = (group: string) => {
    const labels = { [sourceLabels.group]: group, [sourceLabels.kind]: "StatefulSet", [sourceLabels.name]: "x" };
    return floorOwnerOf(generated("web", { labels, ownerReferences: [advanced, builtIn] }))?.name;
  };
  assert.equal(nameOf("apps"), "StatefulSet shop/built-in");
  assert.equal(nameOf("apps.kruise.io"), "StatefulSet.apps.kruise.io shop/advanced");
});

test("a hand-made PodProtector that follows workloads sets its floor by its own fields, once that is resolved", () => {
  const made = generated("web", { labels: {}, finalizers: [], annotations: {} });
  const following = { ...made, spec: { ...made.spec, maxUnavailable: "25%" } };
  assert.equal(floorOwnerOf(following), undefined, "no generator has looked at it");
  const conditions = [condition("FloorResolved", "True"), condition("Undrainable", "True")];
  const resolved = { ...following, status: { ...made.status!, conditions } };
  assert.deepEqual(floorOwnerOf(resolved), {
    name: "PodProtector shop/deployment-web",
    fields: "spec.maxUnavailable or spec.minAvailablePercent",
    undone: "edits of its spec.minAvailable",
    hasVanished: false,
    isUndrainable: true,
  });
  assert.equal(floorOwnerOf({ ...resolved, spec: made.spec }), undefined);
});
