import assert from "node:assert/strict";
import { test } from "node:test";
import { nearest } from "../../../../src/config/types/nearest.ts";

test("the nearest word has the fewest edits", () => {
  assert.equal(nearest("webhok", ["generator", "webhook"]), "webhook");
});

test("the case of letters makes no difference", () => {
  assert.equal(nearest("WEBHOOK", ["generator", "webhook"]), "webhook");
  assert.equal(nearest("podprotectors", ["PodProtectors"]), "PodProtectors");
});

test("a word is not near that shares little more than its length", () => {
  assert.equal(nearest("maybe", ["true", "false"]), undefined);
  assert.equal(nearest("nope", ["role", "config"]), undefined);
});

test("nothing is suggested when nothing is near, there is nothing to choose from, or the word is empty or huge", () => {
  assert.equal(nearest("zzzzzz", ["generator", "webhook"]), undefined);
  assert.equal(nearest("a", []), undefined);
  assert.equal(nearest("", ["a"]), undefined);
  assert.equal(nearest("a".repeat(201), ["a".repeat(200)]), undefined);
});
