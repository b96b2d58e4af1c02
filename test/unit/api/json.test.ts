import assert from "node:assert/strict";
import { test } from "node:test";
import { asList, asObject } from "../../../src/api/json.ts";

test("only objects are objects, and only lists are lists", () => {
  const object = { a: 1 };
  const list = [1];
  assert.equal(asObject(object), object);
  assert.equal(asList(list), list);
  for (const other of [undefined, null, "x", 1, true]) {
    assert.equal(asObject(other), undefined);
    assert.deepEqual(asList(other), []);
  }
  assert.equal(asObject(list), undefined);
  assert.deepEqual(asList(object), []);
});
