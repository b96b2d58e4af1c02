import assert from "node:assert/strict";
import { test } from "node:test";
import { mutations } from "./catalog/catalog.ts";
import { tryMutation } from "./check.ts";

/**
 * Each needs one or two seeds; a few more, so that a change of what worlds draw does not matter. One is caught in its
 * scenario.
 */
const seedsMax = 5;
/** Ends a process that hangs; it needs seconds. */
const limitMs = 600_000;
const fast = {
  "wrong-cell": "checker",
  "terminating-pod-holds-its-quota": "checker",
  "barrier-is-as-old-as-its-answer": "scenario",
  "floor-is-always-zero": "checker",
  "vanished-source-releases": "checker",
} as const;

for (const [name, how] of Object.entries(fast)) {
  test(`the mutation ${name} is caught`, async () => {
    const mutation = mutations.find((one) => one.name === name);
    assert.ok(mutation);
    const bounds = { firstSeed: 1, lastSeed: seedsMax, limitMs };
    const { caught } = await tryMutation(mutation, { ...bounds, code: "mutated" });
    assert.equal(caught?.how, how);
  });
}

test("nothing is caught in code without a mutation", async () => {
  const [mutation] = mutations;
  assert.ok(mutation);
  const { caught } = await tryMutation(mutation, { firstSeed: 1, lastSeed: 1, limitMs, code: "plain" });
  assert.equal(caught, undefined);
});
