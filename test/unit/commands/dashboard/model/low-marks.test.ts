import assert from "node:assert/strict";
import { test } from "node:test";
import { LowMarks, slotMs, slotsMax } from "../../../../../src/commands/dashboard/model/low-marks.ts";

test("the lowest number of a slot is kept, and the one at its end", () => {
  const lows = new LowMarks();
  lows.record(0, 10);
  lows.record(slotMs, 9);
  lows.record(slotMs + 1, 4);
  lows.record(slotMs + 2, 8);
  assert.deepEqual(lows.marks, [
    [0, 10, 10],
    [1, 4, 8],
  ]);
});

test("in the slot in which a number rises, the lower one held as well", () => {
  const lows = new LowMarks();
  lows.record(0, 3);
  lows.record(5 * slotMs, 7);
  assert.deepEqual(lows.marks.at(-1), [5, 3, 7]);
});

test("a number that stays the same needs no room", () => {
  const lows = new LowMarks();
  for (let slot = 0; slot < 1000; slot++) lows.record(slot * slotMs, 5);
  assert.equal(lows.marks.length, 1);
});

test("what is older than a quarter of an hour is forgotten, but for what held at its beginning", () => {
  const lows = new LowMarks();
  for (let slot = 0; slot < 500; slot++) lows.record(slot * slotMs, slot);
  assert.equal(lows.marks.length, slotsMax + 1);
  assert.equal(lows.marks[0]![0], 499 - slotsMax);
});

test("a clock that goes back adds nothing before the last slot", () => {
  const lows = new LowMarks();
  lows.record(10 * slotMs, 5);
  lows.record(2 * slotMs, 3);
  assert.deepEqual(lows.marks, [[10, 3, 3]]);
});
