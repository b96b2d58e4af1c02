import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { mutations } from "./catalog/catalog.ts";
import { mutate } from "./mutation.ts";

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
