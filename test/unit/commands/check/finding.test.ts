import assert from "node:assert/strict";
import { test } from "node:test";
import { agoText, counted, namesText, unchecked } from "../../../../src/commands/check/finding.ts";
import { before, now } from "./sound-facts.ts";

test("many names are cut, and the others counted", () => {
  assert.equal(namesText(["a", "b"]), "a, b");
  assert.equal(namesText(["a", "b", "c", "d", "e", "f"]), "a, b, c, d, e and 1 more");
});

test("a number agrees with its noun", () => {
  assert.equal(counted(1, "cell"), "1 cell");
  assert.equal(counted(0, "cell"), "0 cells");
});

test("an age is that between two moments, and what is not known is said so", () => {
  assert.equal(agoText(now, before(90)), "1 m 30 s");
  assert.equal(agoText(now, undefined), "an unknown time");
});

test("what was not checked says what and why, and has no cure", () => {
  assert.deepEqual(unchecked("clock", "the clock", "nobody answers"), {
    check: "clock",
    level: "unchecked",
    text: "the clock: not checked, nobody answers",
  });
});
