import assert from "node:assert/strict";
import { test } from "node:test";
import { rendered } from "../../../../src/commands/carried/kustomization.ts";
import { render } from "../../../manifests/manifest-files.ts";

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
