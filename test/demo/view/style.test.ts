import assert from "node:assert/strict";
import { test } from "node:test";
import { createStyle } from "../../../scripts/demo/view/style.ts";

test("colour is put around text and ends with it", () => {
  assert.equal(createStyle({ colour: true, utf8: true }).paint("bad", "x"), "\u001B[31mx\u001B[0m");
});

test("without colour, and for empty and plain text, nothing is added", () => {
  assert.equal(createStyle({ colour: false, utf8: true }).paint("bad", "x"), "x");
  assert.equal(createStyle({ colour: true, utf8: true }).paint("bad", ""), "");
  assert.equal(createStyle({ colour: true, utf8: true }).paint("plain", "x"), "x");
});

test("a terminal without UTF-8 gets ASCII only", () => {
  assert.match(Object.values(createStyle({ colour: false, utf8: false }).glyphs).join(""), /^[\x20-\x7E]+$/);
});
