import assert from "node:assert/strict";
import { test } from "node:test";
import { finalizer } from "../../../../src/api/v1alpha1/names.ts";
import { type PodProtector } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { objectKey } from "../../../../src/api/object-key.ts";
import {
  inLogs,
  isGeneratedFor,
  kindOf,
  planFor,
  protectorKeyOf,
  protectorNameOf,
  protectorTypeMeta,
  sourceLabelsOf,
  sourceOf,
} from "../../../../src/generator/sources/source-plan.ts";
import { deployments } from "../../../../src/sources/deployment.ts";
import { sourceKindOf } from "../../../../src/sources/index.ts";
import { readSource } from "../../../../src/sources/read-source.ts";
import { type SourceRecord } from "../../../../src/sources/source.ts";

const source = (name = "web", spec: object = {}): SourceRecord => {
  const metadata = { name, namespace: "default", uid: "deployment-uid", resourceVersion: "1" };
  const record = readSource(deployments, {
    metadata,
    spec: { replicas: 10, minReadySeconds: 5, selector: { matchLabels: { app: "web" } }, ...spec },
  });
  assert.ok(record !== undefined);
  return record;
};
const rule = { percentRounding: "at-least-one", singleReplica: "drainable" } as const;

test("the PodProtector is named after its Deployment and leads back to it", () => {
  const wanted = planFor(source("web", { minReadySeconds: -1 }), rule);
  assert.partialDeepStrictEqual(wanted, {
    name: "deployment-web",
    namespace: "default",
    ownerReference: { apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: "deployment-uid", controller: true },
    spec: { minAvailable: 8, minReadySeconds: 0, selector: { matchLabels: { app: "web" } } },
  });
  assert.deepEqual(sourceLabelsOf(deployments, "web"), wanted.labels);
});

test("long names are shortened stably, uniquely and validly", () => {
  const long = "a".repeat(252);
  assert.equal(protectorNameOf(deployments, "web"), "deployment-web");
  assert.equal(protectorNameOf(deployments, long).length, 253);
  assert.equal(protectorNameOf(deployments, long), protectorNameOf(deployments, long));
  assert.notEqual(protectorNameOf(deployments, `${long}b`), protectorNameOf(deployments, `${long}c`));
  const label = Object.values(sourceLabelsOf(deployments, `${"a".repeat(49)}.-${"b".repeat(99)}`))[0] ?? "";
  assert.ok(label.length <= 63);
  assert.match(label, /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);
});

test("the scheme of shortening never changes, since running clusters hold its names", () => {
  assert.ok(Object.values(sourceLabelsOf(deployments, "w".repeat(63))).includes("w".repeat(63)));
  assert.ok(Object.values(sourceLabelsOf(deployments, "w".repeat(64))).includes(`${"w".repeat(50)}-54b74fa3b751`));
});

function protector(metadata: Partial<PodProtector["metadata"]>): PodProtector {
  return {
    ...protectorTypeMeta,
    metadata: { name: "deployment-web", namespace: "default", uid: "p-1", resourceVersion: "1", ...metadata },
    spec: { minAvailable: 1, minReadySeconds: 0, selector: {} },
  };
}

test("a protector is generated for a Deployment when it has the derived name and the labels or the finalizer", () => {
  const labels = sourceLabelsOf(deployments, "web");
  const owner = planFor(source(), rule).ownerReference;
  const edited = { ...labels, "podseidon.kubewharf.io/source-name": "else" };
  const cases: readonly (readonly [metadata: Partial<PodProtector["metadata"]>, expected: string | undefined])[] = [
    [{ labels, finalizers: [finalizer], ownerReferences: [owner] }, "web"],
    [{ labels }, "web"],
    [{ finalizers: [finalizer] }, "web"],
    [{ labels: edited, finalizers: [finalizer] }, "web"],
    [{ labels: edited }, undefined],
    [{}, undefined],
    [{ ownerReferences: [owner] }, undefined],
    [{ name: "mine", labels, finalizers: [finalizer], ownerReferences: [owner] }, undefined],
    [{ name: "deployment-other", labels, ownerReferences: [owner] }, undefined],
  ];
  for (const [metadata, expected] of cases) {
    assert.equal(sourceOf(protector(metadata))?.name, expected, JSON.stringify(metadata));
    assert.equal(
      isGeneratedFor(protector(metadata), { kind: deployments, name: "web" }),
      expected === "web",
      JSON.stringify(metadata),
    );
  }
});

test("the owner reference leads to the source where name and label were shortened, and nothing else does", () => {
  const name = "w".repeat(253);
  const { ownerReference, labels, ...plan } = planFor(source(name), rule);
  const owned = protector({ name: plan.name, labels, finalizers: [finalizer], ownerReferences: [ownerReference] });
  assert.equal(sourceOf(owned)?.name, name);
  const orphaned = protector({ ...owned.metadata, ownerReferences: [] });
  assert.equal(sourceOf(orphaned), undefined);
  assert.ok(isGeneratedFor(orphaned, { kind: deployments, name }));
});

test("the kind of a PodProtector is told by the beginning of its name", () => {
  assert.equal(kindOf(protectorKeyOf(source())), deployments);
  assert.equal(kindOf(objectKey("default", "mine")), undefined);
  assert.deepEqual(inLogs(source()), { deployment: "default/web" });
  const advanced = { ...source(), kind: sourceKindOf("statefulsets.apps.kruise.io") };
  assert.deepEqual(inLogs(advanced), { "statefulSet.apps.kruise.io": "default/web" });
});
