import assert from "node:assert/strict";
import { test } from "node:test";
import { LowMarks, slotMs, slotsMax } from "../../../../../src/commands/dashboard/model/fleet.ts";
import { loadModule } from "./modules.ts";

interface Sparkline {
  readonly lowestBySlot: (marks: LowMarks["marks"], nowMs: number) => (number | undefined)[];
}

const { lowestBySlot } = await loadModule<Sparkline>("sparkline.js");

test("each slot has the lowest number in it, and holds the last one until the next change", () => {
  const lows = new LowMarks();
  lows.record(100 * slotMs, 9);
  lows.record(103 * slotMs, 4);
  lows.record(103 * slotMs + 1, 7);
  const values = lowestBySlot(lows.marks, 105 * slotMs);
  assert.equal(values.length, slotsMax);
  assert.deepEqual(values.slice(-7), [undefined, 9, 9, 9, 4, 7, 7]);
});

test("after a quiet hour the number that holds is drawn over the whole width", () => {
  const lows = new LowMarks();
  lows.record(0, 5);
  assert.deepEqual(new Set(lowestBySlot(lows.marks, 240 * slotMs)), new Set([5]));
});

test("the beginning of the time that is shown has what held then", () => {
  const lows = new LowMarks();
  for (let slot = 0; slot < 200; slot += 2) lows.record(slot * slotMs, slot);
  const values = lowestBySlot(lows.marks, 199 * slotMs);
  assert.equal(values.includes(undefined), false);
  assert.equal(values.at(-1), 198);
  assert.equal(values[0], 138);
});

test("a clock of the browser that is behind does not hide the last change", () => {
  const lows = new LowMarks();
  lows.record(100 * slotMs, 9);
  lows.record(101 * slotMs, 3);
  assert.equal(lowestBySlot(lows.marks, 90 * slotMs).at(-1), 3);
});
