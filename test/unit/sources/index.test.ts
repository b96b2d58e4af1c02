import assert from "node:assert/strict";
import { test } from "node:test";
import { sourceIDs } from "../../../src/config/generator-rules.ts";
import { sourceKindOf, sourceKinds } from "../../../src/sources/index.ts";

test("each kind is called what its resource is called, and its PodProtectors begin unlike those of others", () => {
  assert.deepEqual(
    sourceIDs.map((id) => sourceKindOf(id).id),
    sourceIDs,
  );
  assert.equal(sourceKinds.length, sourceIDs.length);
  for (const { id, resource, apiVersion, kind, prefix } of sourceKinds) {
    const { group, version } = resource;
    assert.equal(id, group === "" ? resource.resource : `${resource.resource}.${group}`);
    assert.equal(apiVersion, group === "" ? version : `${group}/${version}`);
    // Two kinds are called StatefulSet.
    const name = id === "statefulsets.apps.kruise.io" ? "AdvancedStatefulSet" : kind;
    assert.equal(prefix, `${name.toLowerCase()}-`);
    assert.match(prefix, /^[a-z]+-$/);
    assert.equal(sourceKinds.filter((other) => other.prefix.startsWith(prefix)).length, 1);
  }
});

test("no two kinds share a resource, or a group and a kind", () => {
  const unique = (texts: readonly string[]) => new Set(texts).size;
  assert.equal(unique(sourceKinds.map(({ id }) => id)), sourceKinds.length);
  assert.equal(unique(sourceKinds.map(({ kind, resource }) => `${kind}.${resource.group}`)), sourceKinds.length);
});
