/** The ways to read a review are in test/unit/webhook/http/review-fields.test.ts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Kept, keptFields } from "../../../src/api/kept-fields.ts";

const wanted: Kept = { a: true, b: { c: true } };

test("only the members that are wanted are kept, at every level", () => {
  const body = { a: [1, { z: 2 }], b: { c: "x", d: [3] }, e: { a: 4 } };
  const fields = keptFields(Buffer.from(JSON.stringify(body, undefined, 1)), wanted);
  assert.ok(fields.ok);
  assert.deepEqual(JSON.parse(fields.text), { a: [1, { z: 2 }], b: { c: "x" } });
  assert.ok(fields.values < 10);
});

test("what is no JSON, too deep or too much has no fields", () => {
  const codeOf = (text: string): number | undefined => {
    const fields = keptFields(Buffer.from(text), wanted);
    return fields.ok ? undefined : fields.code;
  };
  assert.equal(codeOf('{"a":'), 400);
  assert.equal(codeOf(`{"e":${"[".repeat(1_000)}`), 413);
  assert.equal(codeOf(`{"a":[${"1,".repeat(30_000)}1]}`), 413);
  assert.equal(codeOf(`{"e":[${"1,".repeat(30_000)}1]}`), undefined);
});
