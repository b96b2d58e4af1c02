import assert from "node:assert/strict";
import { test } from "node:test";
import { objectKey, partsOf, protectorID } from "../../../src/api/object-key.ts";

test("an object key names namespace and name, and gives them back", () => {
  const key = objectKey("default", "web");
  assert.equal(key, "default/web");
  assert.deepEqual(partsOf(key), { namespace: "default", name: "web" });
});

test("the key of a cluster-scoped object is its name", () => {
  assert.equal(objectKey("", "default"), "default");
  assert.equal(objectKey(undefined, "default"), "default");
  assert.deepEqual(partsOf(objectKey("", "default")), { namespace: "", name: "default" });
});

test("a PodProtector is named by core, namespace and name", () => {
  assert.equal(protectorID("core", objectKey("default", "web")), "core/default/web");
});
