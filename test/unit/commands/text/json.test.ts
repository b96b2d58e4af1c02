import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonText } from "../../../../src/commands/text/json.ts";

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
