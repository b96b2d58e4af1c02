import assert from "node:assert/strict";
import { test } from "node:test";
import { isCellID } from "../../../src/api/cell-id.ts";
import { labelValueProblem } from "../../../src/config/types/kubernetes-names.ts";

test("a cell ID has 1 to 63 letters, digits, dashes, underscores and dots, and no sign at its ends", () => {
  for (const text of ["a", "7", "default", "eu-west.1", "Zelle_7", "a--b", "x".repeat(63)])
    assert(isCellID(text), text);
  for (const text of ["", "-a", "a-", ".", "..", ".a", "a_", "a b", "a/b", "a,b", "a=b", "a%20b", "x".repeat(64)])
    assert(!isCellID(text), text);
});

test("a cell ID has no letters beyond ASCII, no control characters and no second line", () => {
  for (const text of ["zelle-ä", "a\n", "\na", "a\nb", "a\0b", "a\u001bb", "a\u202eb", "ａ"])
    assert(!isCellID(text), JSON.stringify(text));
});

test("every cell ID is a value of a label", () => {
  const texts = ["a", "A.b_c-9", "x".repeat(63), "", "a-", "x".repeat(64), "a/b", "ä"];
  for (const text of texts) assert.equal(isCellID(text), text !== "" && labelValueProblem(text) === undefined, text);
});
