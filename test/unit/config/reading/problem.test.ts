import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem, unknownName } from "../../../../src/config/reading/problem.ts";

test("a problem never shows a password", () => {
  assert.equal(new Problem("bad https://me:secret@host").message, "bad https://***@host");
});

test("the nearest name is suggested for an unknown one, as the user would write it", () => {
  const { message } = unknownName("flag", "--rloe", ["role", "config"], (name) => `--${name}`);
  assert.equal(message, "unknown flag --rloe; did you mean --role? (--help lists all)");
});

test("an unusual name is quoted, so that it cannot break the line", () => {
  assert.equal(unknownName("flag", "--a\nb", [], String).message, 'unknown flag "--a\\nb" (--help lists all)');
});
