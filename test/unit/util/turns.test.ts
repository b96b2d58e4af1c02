import assert from "node:assert/strict";
import { test } from "node:test";
import { Turns } from "../../../src/util/turns.ts";

test("a few of many names at a time have their turn, and none again before all have had one", () => {
  const turns = new Turns(2);
  const names = ["a", "b", "c", "a"];
  assert.deepEqual([turns.next(names), turns.next(names), turns.next(names)], [["a", "b"], ["c"], ["a", "b"]]);
});

test("names that come have their turn in the same round, and names that go are not waited for", () => {
  const turns = new Turns(1);
  assert.deepEqual(turns.next(["a", "b"]), ["a"]);
  assert.deepEqual(turns.next(["a", "c"]), ["c"]);
  assert.deepEqual(turns.next(["a"]), ["a"]);
  assert.deepEqual(turns.next([]), []);
});
