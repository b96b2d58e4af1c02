import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ageText,
  coloured,
  jsonText,
  shellWord,
  wrapped,
  wrappedCommand,
} from "../../../../src/commands/text/format.ts";

test("text is broken at blanks, and later lines are indented", () => {
  assert.deepEqual(wrapped("one two three", 7, "  "), ["one two", "  three"]);
  assert.deepEqual(wrapped("  one two", 7, "    "), ["  one", "    two"]);
  assert.deepEqual(wrapped("a-word-that-is-too-long b", 6), ["a-word-that-is-too-long", "b"]);
  assert.deepEqual(wrapped("a wide word-of-ten", 13, "    "), ["a wide", "  word-of-ten"]);
  assert.deepEqual(wrapped("", 5), [""]);
  const red = (text: string): string => `\u001b[31m${text}\u001b[0m`;
  assert.deepEqual(wrapped(`${red("one")} ${red("two")} three`, 7), [`${red("one")} ${red("two")}`, "three"]);
});

test("a command stays a command when its lines are copied", () => {
  const lines = wrappedCommand("kubectl -n shop annotate pod web-1 x=", 24, "  ");
  assert.deepEqual(lines, [
    String.raw`  kubectl -n shop \ `.trimEnd(),
    String.raw`    annotate pod web-1 \ `.trimEnd(),
    "    x=",
  ]);
  for (const line of lines) assert(line.length <= 24);
  assert.deepEqual(wrappedCommand("ls", 80, ""), ["ls"]);
});

test("an age is told in its two largest units", () => {
  const cases: readonly (readonly [number, string])[] = [
    [-5_000, "0 s"],
    [0, "0.0 s"],
    [340, "0.3 s"],
    [9_949, "9.9 s"],
    [9_950, "10 s"],
    [59_499, "59 s"],
    [59_500, "1 m 00 s"],
    [242_000, "4 m 02 s"],
    [3_599_499, "59 m 59 s"],
    [3_600_000, "1 h 00 m"],
    [11_100_000, "3 h 05 m"],
    [187_200_000, "2 d 04 h"],
  ];
  for (const [ms, text] of cases) assert.equal(ageText(ms), text);
});

test("a plain word stays as it is, and everything else means nothing to a shell but itself", () => {
  assert.equal(shellWord("namespace/shop"), "namespace/shop");
  assert.equal(shellWord("*"), "'*'");
  assert.equal(shellWord(""), "''");
  assert.equal(shellWord("x; rm -rf $HOME"), "'x; rm -rf $HOME'");
  assert.equal(shellWord("it's"), String.raw`'it'\''s'`);
});

test("text is coloured only where colours are wanted, and never what is empty", () => {
  assert.equal(coloured({ isColoured: true }, "bad", "x"), "\u001b[31mx\u001b[0m");
  assert.equal(coloured({ isColoured: true }, "bad", ""), "");
  assert.equal(coloured({ isColoured: true }, undefined, "x"), "x");
  assert.equal(coloured({ isColoured: false }, "bad", "x"), "x");
});

test("JSON is indented or on one line, and ends with a line end", () => {
  assert.equal(jsonText({ a: [1] }), '{\n  "a": [\n    1\n  ]\n}\n');
  assert.equal(jsonText({ a: [1] }, true), '{"a":[1]}\n');
});

test("what could control a terminal is escaped, and reads back as it was", () => {
  const hostile = "\u001b[2J\u009b31m\u202egnp\u2028\u{e0001}ä";
  const text = jsonText({ hostile });
  assert.match(text, /^[\x20-\x7eä\n]*$/);
  assert.deepEqual(JSON.parse(text), { hostile });
});
