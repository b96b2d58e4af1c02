import assert from "node:assert/strict";
import { test } from "node:test";
import { wrapped, wrappedCommand } from "../../../../src/commands/text/wrap.ts";

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
