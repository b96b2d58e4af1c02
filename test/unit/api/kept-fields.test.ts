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

test("a name is wanted only when all of it stands there", () => {
  const body = { ab: 1, A: 2, "": 3, aa: { c: 4 }, b: { d: 5, c: 6, cc: 7, constructor: 8, __proto__x: 9 }, ä: 10 };
  const fields = keptFields(Buffer.from(JSON.stringify(body)), wanted);
  assert.ok(fields.ok);
  assert.deepEqual(JSON.parse(fields.text), { b: { c: 6 } });
  const inherited = keptFields(Buffer.from('{"toString":1,"constructor":2,"__proto__":{"c":3}}'), wanted);
  assert.deepEqual(inherited, { ok: true, text: "{}", values: 0 });
});

test("what is kept is the same however long it is and whatever space is around it", () => {
  for (const length of [0, 1, 60, 64, 65, 5_000]) {
    for (const space of ["", " ", "\n\t "]) {
      const text = "x".repeat(length);
      const tokens = ["{", '"e"', ":", "0", ",", '"a"', ":", `"${text}"`, ",", '"b"', ":", "[1]", "}"];
      const fields = keptFields(Buffer.from(tokens.join(space)), wanted);
      assert.ok(fields.ok);
      assert.deepEqual(JSON.parse(fields.text), { a: text, b: [] });
    }
  }
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
