import assert from "node:assert/strict";
import { test } from "node:test";
import { coloured } from "../../../../src/commands/text/colour.ts";

test("text is coloured only where colours are wanted, and never what is empty", () => {
  assert.equal(coloured({ isColoured: true }, "bad", "x"), "\u001b[31mx\u001b[0m");
  assert.equal(coloured({ isColoured: true }, "bad", ""), "");
  assert.equal(coloured({ isColoured: true }, undefined, "x"), "x");
  assert.equal(coloured({ isColoured: false }, "bad", "x"), "x");
});
