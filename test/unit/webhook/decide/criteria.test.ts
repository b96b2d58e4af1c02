import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { criterionOf } from "../../../../src/webhook/decide/criteria.ts";

const choices = [
  { criterion: "Scheduled", annotation: { key: "a", value: "S" } },
  { criterion: "Running", annotation: { key: "b", value: "R" } },
] as const;

describe("criteria", () => {
  it("are the first choice whose annotation has exactly its value", () => {
    assert.equal(criterionOf({ a: "S", b: "R" }, choices), "Scheduled");
    assert.equal(criterionOf({ a: "s", b: "R" }, choices), "Running");
  });

  it("are Available without such an annotation, also for names that every object inherits", () => {
    assert.equal(criterionOf({}, choices), "Available");
    assert.equal(criterionOf({ a: "x" }, choices), "Available");
    const inherited = [{ criterion: "Ready", annotation: { key: "constructor", value: "R" } }] as const;
    assert.equal(criterionOf({}, inherited), "Available");
  });
});
