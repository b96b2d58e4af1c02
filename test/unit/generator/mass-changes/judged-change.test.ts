import assert from "node:assert/strict";
import { test } from "node:test";
import { type Entry, heldChangeOf } from "../../../../src/generator/mass-changes/judged-change.ts";

test("people are told of the floors before and after, and what is latched", () => {
  const source = { name: "web" };
  const change = { from: 6, to: undefined, cause: { text: "namespace/shop", isHalfTooMany: false } };
  const entry = { source, change, heldBy: "core", terminatingNamespace: "u", state: "held" } as unknown as Entry;
  assert.deepEqual(heldChangeOf(entry), {
    source,
    from: 6,
    to: undefined,
    heldBy: "core",
    terminatingNamespace: "u",
  });
});
