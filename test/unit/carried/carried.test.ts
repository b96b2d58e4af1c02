import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import packageJson from "../../../package.json" with { type: "json" };
import {
  droppedFields,
  isOwnSchema,
  isTerminating,
  ownDefinition,
  releaseOf,
} from "../../../src/carried/definition.ts";
import { rendered } from "../../../src/carried/kustomization.ts";
import { upstreamPodProtectorCrd } from "../../double/index.ts";
import { manifestsFolder, onlyOne, readManifests, render } from "../../manifests/manifest-files.ts";

const edited = (find: string, replace: string): unknown => {
  const text = JSON.stringify(ownDefinition());
  assert.ok(text.includes(find), find);
  return JSON.parse(text.replace(find, replace));
};

test("the program carries the CRD of the manifests", () => {
  const objects = readManifests(path.join(manifestsFolder, "base/crd/podprotectors.yaml"));
  assert.deepEqual(ownDefinition(), onlyOne(objects, "CustomResourceDefinition"));
});

test("the CRD names the release of the package", () => {
  assert.equal(releaseOf(ownDefinition()), packageJson.version);
  assert.equal(releaseOf({}), undefined);
});

test("our CRD drops none of our fields, and is the same with descriptions of its own and keys in another order", () => {
  assert.deepEqual(droppedFields(ownDefinition()), []);
  assert.ok(isOwnSchema(edited("Pods that must stay available, summed over all cells.", "others")));
  const { spec, ...rest } = ownDefinition();
  assert.ok(isOwnSchema({ spec, ...rest }));
  assert.ok(!isOwnSchema(edited('"maxLength":63', '"maxLength":62')));
});

test("the CRD of the Go original drops our extensions, whose outermost field is named", () => {
  const dropped = droppedFields(upstreamPodProtectorCrd());
  assert.ok(dropped.includes("spec.targets") && dropped.includes("status.conditions"), dropped.join());
  assert.ok(dropped.includes("status.cells.aggregation.countedSpec"));
  assert.ok(!dropped.some((field) => field.startsWith("spec.targets.")));
});

test("a CRD that keeps what it does not know drops nothing below", () => {
  const open = edited(
    '"type":"object","required":["cells","summary"]',
    '"type":"object","x-kubernetes-preserve-unknown-fields":true,"required":["cells","summary"]',
  );
  assert.deepEqual(droppedFields(open), []);
});

test("a CRD without our version, or without the subresource of the status, drops what is written", () => {
  assert.match(droppedFields({})[0] ?? "", /version v1alpha1 is not served/);
  assert.deepEqual(droppedFields(edited('"subresources":{"status":{}}', '"subresources":{}')), [
    "the subresource status",
  ]);
});

test("a CRD that somebody has deleted is terminating", () => {
  assert.equal(isTerminating(ownDefinition()), false);
  assert.equal(isTerminating({ metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }), true);
});

test("a folder without patches has the objects that kustomize renders", () => {
  assert.deepEqual(rendered("base/aggregator/cell-account"), render("base/aggregator/cell-account"));
});

test("a component changes objects of those before it, and no other rendering", () => {
  const generator = (...after: readonly string[]): string =>
    JSON.stringify(rendered("components/core", ...after).find(({ kind }) => kind === "Deployment"));
  const before = generator();
  assert.notEqual(generator("components/certificates/core"), before);
  assert.equal(generator(), before);
});

test("a patch that finds no object is a mistake in the manifests", () => {
  assert.throws(
    () => rendered("components/certificates/core"),
    /components\/certificates\/core: a patch of Deployment podseidon-generator does not fit/,
  );
});
