import assert from "node:assert/strict";
import { test } from "node:test";
import { createLabelSetIndex } from "../../../src/label-index/label-set-index.ts";
import { createNamespacedIndex } from "../../../src/label-index/namespaced-index.ts";
import { createSelectorIndex } from "../../../src/label-index/selector-index.ts";

test("a namespaced index never finds a name of another namespace", () => {
  const index = createNamespacedIndex(createSelectorIndex);
  index.track("blue", "it", { matchLabels: { app: "web" } });
  index.track("green", "it", { matchLabels: { app: "api" } });
  assert.deepEqual(index.query("blue", { app: "web" }), ["it"]);
  assert.deepEqual(index.query("green", { app: "web" }), []);
  assert.deepEqual(index.query("red", { app: "web" }), []);
});

test("a namespace is freed with its last name", () => {
  let created = 0;
  const index = createNamespacedIndex(() => {
    created++;
    return createLabelSetIndex();
  });
  index.track("blue", "a", { app: "web" });
  index.track("blue", "b", { app: "web" });
  index.track("green", "a", { app: "web" });
  assert.equal(created, 2);
  assert.equal(index.untrack("blue", "a"), true);
  index.track("blue", "a", { app: "web" });
  assert.equal(created, 2);
  assert.equal(index.untrack("blue", "a"), true);
  assert.equal(index.untrack("blue", "b"), true);
  assert.equal(index.untrack("blue", "b"), false);
  index.track("blue", "b", { app: "web" });
  assert.equal(created, 3, "its index was freed");
});

test("an invalid selector creates no namespace, and keeps one that has others", () => {
  let created = 0;
  const index = createNamespacedIndex(() => {
    created++;
    return createSelectorIndex();
  });
  const invalid = { matchExpressions: [{ key: "app", operator: "In", values: [] }] } as const;
  assert.equal(index.track("blue", "it", invalid).ok, false);
  index.track("blue", "it", {});
  assert.equal(created, 2, "the first one was not kept");
  assert.equal(index.track("blue", "it", invalid).ok, false);
  assert.deepEqual(index.query("blue", {}), ["it"]);
});
