import assert from "node:assert/strict";
import { it } from "node:test";
import { Problem, unknownName } from "../../../src/config/problem.ts";

it("a problem never shows a password", () => {
  assert.equal(new Problem("bad https://me:secret@host").message, "bad https://***@host");
});

it("an unknown name comes with the nearest one as the user would write it", () => {
  const { message } = unknownName("flag", "--rloe", ["role", "config"], (name) => `--${name}`);
  assert.equal(message, "unknown flag --rloe; did you mean --role? (--help lists all)");
});

it("a strange name is quoted, so that it cannot break the line", () => {
  assert.equal(unknownName("flag", "--a\nb", [], String).message, 'unknown flag "--a\\nb" (--help lists all)');
});
