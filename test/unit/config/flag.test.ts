import assert from "node:assert/strict";
import { test } from "node:test";
import { flag, inGroup, prefixed, unprefixed, withoutEffect } from "../../../src/config/flag.ts";
import { bool } from "../../../src/config/types/scalar-types.ts";

test("a prefix is put before each name, and unprefixed removes it", () => {
  const spec = flag(bool(), true, "Help.");
  const specs = prefixed("a-", { b: spec, c: spec });
  assert.deepEqual(Object.keys(specs), ["a-b", "a-c"]);
  assert.deepEqual(unprefixed({ "a-b": 1, "x-c": 2, "a-": 3 }, "a-"), { b: 1, "": 3 });
});

test("a group is written into each of its flags", () => {
  const group = { title: "T", roles: ["webhook"] as const };
  const grouped = inGroup(group, { a: flag(bool(), true, "Help.", { mayHoldPassword: true }) });
  assert.equal(grouped.a.group, group);
  assert.equal(grouped.a.mayHoldPassword, true);
});

test("a reason marks each of the flags that have no effect", () => {
  const ignored = withoutEffect("Reason.", { a: flag(bool(), true, "Help.") });
  assert.equal(ignored.a.ignored, "Reason.");
  assert.equal(ignored.a.help, "Help.");
});
