import assert from "node:assert/strict";
import { test } from "node:test";
import { shellWord } from "../../../../src/commands/text/shell.ts";

test("a plain word stays as it is, and everything else means nothing to a shell but itself", () => {
  assert.equal(shellWord("namespace/shop"), "namespace/shop");
  assert.equal(shellWord("*"), "'*'");
  assert.equal(shellWord(""), "''");
  assert.equal(shellWord("x; rm -rf $HOME"), "'x; rm -rf $HOME'");
  assert.equal(shellWord("it's"), String.raw`'it'\''s'`);
});
