import assert from "node:assert/strict";
import { test } from "node:test";
import { assert as assertThat, AssertionError, assertNever } from "../../../src/util/assert.ts";

test("a true condition passes, a false one throws with the message", () => {
  assertThat(true, "unused");
  assert.throws(
    () => assertThat(false, "broken invariant"),
    (error) =>
      error instanceof AssertionError && error.message === "broken invariant" && error.name === "AssertionError",
  );
});

test("a case that the types exclude throws and names the value", () => {
  assert.throws(() => assertNever({ kind: "odd" } as never), /unexpected value \{"kind":"odd"\}/);
});
