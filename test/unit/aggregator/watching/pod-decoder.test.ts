import assert from "node:assert/strict";
import { test } from "node:test";
import { createKindInterner, createLabelInterner } from "../../../../src/aggregator/watching/pod-decoder.ts";

test("equal label sets become one object", () => {
  const intern = createLabelInterner();
  const first = intern({ app: "web", tier: "front" });
  assert.equal(intern({ app: "web", tier: "front" }), first);
  assert.notEqual(intern({ app: "web" }), first);
  assert.deepEqual(first, { app: "web", tier: "front" });
});

test("the memory is bounded: beyond 65,536 distinct sets all are forgotten, and answers stay right", () => {
  const intern = createLabelInterner();
  const first = intern({ index: "0" });
  for (let index = 1; index < 65_536; index++) intern({ index: String(index) });
  assert.equal(intern({ index: "0" }), first);
  intern({ index: "one too many" });
  const again = intern({ index: "0" });
  assert.notEqual(again, first);
  assert.deepEqual(again, first);
});

test("kinds of workloads are told apart up to a limit, and the usual ones always", () => {
  const intern = createKindInterner();
  assert.equal(intern("PostgresCluster"), "PostgresCluster");
  const kinds = new Set(Array.from({ length: 1_000 }, (_, index) => intern(`Kind${index}`)));
  assert.ok(kinds.size < 32 && kinds.has("other"));
  assert.equal(intern("PostgresCluster"), "PostgresCluster");
  for (const kind of ["Pod", "Deployment", "StatefulSet"]) assert.equal(intern(kind), kind);
});
