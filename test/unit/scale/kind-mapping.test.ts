import assert from "node:assert/strict";
import { test } from "node:test";
import { groupVersionOf, readGroup, readResourceList } from "../../../src/scale/kind-mapping.ts";

test("an apiVersion is a group and a version, and the core group has no name", () => {
  assert.deepEqual(groupVersionOf("v1"), { group: "", version: "v1" });
  assert.deepEqual(groupVersionOf("apps/v1"), { group: "apps", version: "v1" });
  for (const text of ["", "/", "apps/", "a/b/c"]) assert.equal(groupVersionOf(text), undefined, text);
});

test("a resource list tells which kinds have a scale that can be read", () => {
  const scale = { kind: "Scale", group: "autoscaling", version: "v1", verbs: ["get"] };
  const resources = [
    { name: "databases", kind: "Database", namespaced: true },
    { name: "databases/scale", ...scale },
    { name: "caches", kind: "Cache", namespaced: false },
    { name: "caches/scale", ...scale, kind: "Cache" },
    { name: "queues", kind: "Queue", namespaced: true },
    { name: "queues/scale", ...scale, verbs: ["patch"] },
    { kind: "Nameless" },
    7,
  ];
  const read = readResourceList({ resources }, "example.com", "v1");
  assert.deepEqual(
    read?.map(({ resource, kind, isNamespaced, hasScale }) => [resource.resource, kind, isNamespaced, hasScale]),
    [
      ["databases", "Database", true, true],
      ["caches", "Cache", false, false],
      ["queues", "Queue", true, false],
    ],
  );
  assert.equal(readResourceList({ kind: "Status" }, "example.com", "v1"), undefined);
});

test("the versions of a group begin with the preferred one", () => {
  const versions = [{ version: "v1" }, { version: "v2" }, {}];
  assert.deepEqual(readGroup({ versions, preferredVersion: { version: "v2" } }), ["v2", "v1"]);
  assert.equal(readGroup({}), undefined);
});
