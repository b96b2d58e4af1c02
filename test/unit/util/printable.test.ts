import assert from "node:assert/strict";
import { test } from "node:test";
import { printable } from "../../../src/util/printable.ts";

test("text of others is shown without control characters and turns of direction, in at most 301 characters", () => {
  assert.equal(printable('received "\u001b[31m\n\u0000\u202e"'), 'received "?[31m???"');
  assert.equal(printable("\u009b31m\u2066\u2028\u200b"), "?31m???");
  assert.equal(printable("x".repeat(10_000_000)).length, 301);
  assert.equal(printable("spec.minAvailable: odd"), "spec.minAvailable: odd");
});
