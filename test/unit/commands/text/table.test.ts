import assert from "node:assert/strict";
import { test } from "node:test";
import { shortened, table } from "../../../../src/commands/text/table.ts";

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
