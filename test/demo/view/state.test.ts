import assert from "node:assert/strict";
import { test } from "node:test";
import { secondsText, wrap } from "../../../scripts/demo/view/state.ts";

test("text is broken between words only, and none is lost", () => {
  assert.deepEqual(wrap("one two three", 7), ["one two", "three"]);
  assert.deepEqual(wrap("unbreakable", 4), ["unbreakable"]);
  assert.deepEqual(wrap("", 4), [""]);
});

test("times are seconds with one digit", () => {
  assert.equal(secondsText(12_340), "12.3");
});
