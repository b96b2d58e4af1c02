import assert from "node:assert/strict";
import { test } from "node:test";
import { inputText, quote } from "../../../../src/config/types/value-type.ts";

test("a quoted input is one line of at most 80 characters without control characters", () => {
  assert.equal(quote("a\nb\u001b[31m\u009b\u2028"), '"a\\nb\\u001b[31m\\u009b\\u2028"');
  assert.equal(quote("x".repeat(500)).length, 78);
  assert(quote("x".repeat(500)).endsWith('…"'));
});

test("lists and maps are shown as on the command line, and never wholly when they are huge", () => {
  assert.equal(inputText(["a", "b"]), "a,b");
  assert.equal(inputText({ a: "1", b: "" }), "a=1,b=");
  assert.equal(quote({ a: "1" }), '"a=1"');
  const huge = Array.from({ length: 100_000 }, () => "y".repeat(1000));
  assert(quote(huge).length <= 80);
});
