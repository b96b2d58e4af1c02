import assert from "node:assert/strict";
import { test } from "node:test";
import { isCustomSourceID, partsOfSourceID, sourceIDs } from "../../../src/config/generator-rules.ts";

test("a custom resource is a plural and a group with a dot, and no built-in kind is taken for one", () => {
  assert.ok(isCustomSourceID("databases.example.com"));
  assert.deepEqual(partsOfSourceID("databases.db.example.com"), { plural: "databases", group: "db.example.com" });
  for (const wrong of [...sourceIDs, "a.b", "a..b.c", "-a.b.c", "a.b.c-", "A.b.c", "a.b.c/d", ""])
    assert.ok(!isCustomSourceID(wrong), wrong);
});
