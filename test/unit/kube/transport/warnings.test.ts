import assert from "node:assert/strict";
import { test } from "node:test";
import { readWarnings } from "../../../../src/kube/transport/warnings.ts";

test("an answer without the header has no warnings", () => {
  assert.deepEqual(readWarnings(undefined), []);
});

test("the warnings of one header, of several, and of several in one are read", () => {
  assert.deepEqual(readWarnings('299 - "one"'), ["one"]);
  assert.deepEqual(readWarnings(['299 - "one"', '299 - "two, or three"']), ["one", "two, or three"]);
  assert.deepEqual(readWarnings('299 - "one, 299 - ", 299 agent/1.0 "two" "Sun, 22 Nov 2026 10:00:00 GMT"'), [
    "one, 299 - ",
    "two",
  ]);
});

test("what is escaped in a warning is read as it was meant", () => {
  assert.deepEqual(readWarnings(String.raw`299 - "a \"name\" and a \\"`), [String.raw`a "name" and a ` + "\\"]);
});

test("warnings of caches on the way, and what is no warning, are left out", () => {
  assert.deepEqual(readWarnings('110 proxy "Response is Stale", 299 - "ours"'), ["ours"]);
  assert.deepEqual(readWarnings("nonsense"), []);
  assert.deepEqual(readWarnings('299 - "unended'), []);
});
