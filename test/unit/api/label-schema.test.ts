import assert from "node:assert/strict";
import { test } from "node:test";
import * as v from "valibot";
import { stringMap } from "../../../src/api/label-schema.ts";

test("every key is kept, whatever it means to JavaScript", () => {
  const text = '{"app":"web","constructor":"a","prototype":"b","__proto__":"c","toString":"d"}';
  const read = v.safeParse(stringMap, JSON.parse(text));
  assert.ok(read.success);
  assert.equal(JSON.stringify(read.output), text);
});

test("anything but a map of strings is refused", () => {
  for (const other of [null, [], ["a"], "a", 1, { a: 1 }, { a: null }, { a: { b: "c" } }]) {
    assert.equal(v.safeParse(stringMap, other).success, false, JSON.stringify(other));
  }
});
