import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { mutations } from "./catalog.ts";
import { tryMutation } from "./check.ts";
import { mutate } from "./mutation.ts";

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

test("every mutation has a name of its own", () => {
  assert.equal(new Set(mutations.map(({ name }) => name)).size, mutations.length);
});

for (const mutation of mutations) {
  test(`the mutation ${mutation.name} fits the code`, () => {
    const source = readFileSync(new URL(`../../../src/${mutation.file}`, import.meta.url), "utf8");
    assert.notEqual(mutate(mutation, source), source);
  });
}

for (const { name, scenario } of mutations) {
  if (scenario === undefined) continue;
  test(`the mutation ${name} breaks a scenario`, () => {
    const text = readFileSync(new URL(`../scenarios/${scenario}.txt`, import.meta.url), "utf8");
    assert.match(text, new RegExp(`^without: .*\\b${name}\\b`, "m"));
  });
}

test("the text of a mutation must occur exactly once", () => {
  const mutation = { name: "twice", why: "", file: "accounting/history/bucket.ts", find: "a", replace: "b" };
  assert.equal(mutate(mutation, "xax"), "xbx");
  assert.throws(
    () => mutate(mutation, "xaax"),
    /twice: its text occurs 2 times in src\/accounting\/history\/bucket\.ts, not once/,
  );
  assert.throws(() => mutate(mutation, "xx"), /occurs 0 times/);
});

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
