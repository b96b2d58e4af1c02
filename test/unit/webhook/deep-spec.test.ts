/**
 * Depth is no reason to fall over: JSON of an API server may be nested thousands of levels deep where nobody has to
 * look.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeWatched, viewOf } from "../../../src/webhook/protector/protector-view.ts";
import { cell, protector } from "./support/objects.ts";

test("an unknown field of the spec may be nested as deeply as the API server lets JSON be", () => {
  const nested = '{"a":'.repeat(9_000) + "1" + "}".repeat(9_000);
  const object = protector({ cells: [cell("c1", 100)] });
  const text = JSON.stringify({ ...object, metadata: { ...(object["metadata"] as object), resourceVersion: "5" } });
  const stored = () => {
    const watched = decodeWatched(JSON.parse(text.replace('"spec":{', `"spec":{"extra":${nested},`)));
    assert.ok(watched?.content.ok === true);
    return watched.content.stored;
  };
  const first = viewOf(stored(), undefined);
  assert.ok(first.ok);
  assert.ok(viewOf(stored(), first.view).ok);
});
