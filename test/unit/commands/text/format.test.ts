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
import { shortened, table } from "../../../../src/commands/text/table.ts";

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

const columns = [{ title: "NAME", shrinksTo: 6 }, { title: "FREE", align: "right" }, { title: "STATE" }] as const;
const plain = { columns: 80, isColoured: false };

test("a table has its columns below each other, numbers to the right, and no blanks at line ends", () => {
  const rows = [{ cells: ["web", "12", "ok"] }, { cells: ["a-longer-name", "3", ""] }];
  assert.equal(
    table(columns, rows, plain),
    "NAME           FREE  STATE\nweb              12  ok\na-longer-name     3\n",
  );
});

test("where there is too little room, a column that may give way loses its middle", () => {
  const rows = [{ cells: ["a-much-longer-name", "3", "ok"] }];
  const text = table(columns, rows, { ...plain, columns: 24 });
  assert.equal(text, "NAME         FREE  STATE\na-muc…-name     3  ok\n");
  // Not below its least width, even if the terminal is narrower than everything else.
  assert.match(table(columns, rows, { ...plain, columns: 5 }), /^NAME +FREE {2}STATE\na-m…me +3 {2}ok\n$/);
});

test("lines below a row are indented, and broken where they are too long", () => {
  const rows = [{ cells: ["web", "1", "ok"], under: ["one two three four"] }];
  const text = table(columns, rows, { ...plain, columns: 20 });
  assert.equal(text.split("\n").slice(2).join("\n"), "    one two three\n      four\n");
});

test("hostile names cannot write escape codes or new lines", () => {
  const rows = [{ cells: ["a\u001b[2Jb\nc", "\u202e1", "ok"], under: ["x\ry"] }];
  assert.equal(table(columns, rows, plain).split("\n")[1], "a?[2Jb?c    ?1  ok");
  assert.match(table(columns, rows, plain), /\n {4}x\?y\n$/);
});

test("colours do not change what stands where", () => {
  const rows = [{ cells: ["web", { text: "0", tone: "bad" as const }, "ok"] }];
  const text = table(columns, rows, { ...plain, isColoured: true });
  assert.match(text, /\nweb {6}\u001b\[31m0\u001b\[0m {2}ok\n$/);
});

test("a text is shortened in its middle", () => {
  assert.equal(shortened("abcdefgh", 8), "abcdefgh");
  assert.equal(shortened("abcdefgh", 5), "ab…gh");
  assert.equal(shortened("abcdefgh", 2), "a…");
  assert.equal(shortened("abcdefgh", 1), "…");
  assert.equal(shortened("abcdefgh", 0), "");
});
