import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeLatches, encodeLatches } from "../../../../../src/generator/mass-changes/latches/latches.ts";
import { after, noon } from "../samples.ts";

test("latches and approvals are read as they were written", () => {
  const latches = {
    latched: new Map([["core", noon]]),
    approvals: [{ cause: "*", at: noon, until: after(60), text: "{}" }],
  };
  assert.deepEqual(decodeLatches(encodeLatches(latches)), latches);
});

test("what is not understood is no latch and no approval", () => {
  const none = { latched: new Map(), approvals: [] };
  const odd = ['{"latched":[["x"],[5,"2026-01-01T00:00:00Z"],7],"approvals":[["x"],["x","a","b","c"],null]}'];
  for (const text of [undefined, "", "x", "[]", '{"latched":5}', ...odd]) assert.deepEqual(decodeLatches(text), none);
});
