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

interface Words {
  readonly ageText: (milliseconds: number) => string;
  readonly capital: (text: string) => string;
  readonly counted: (number: number, one: string, many?: string) => string;
  readonly isLately: (refusals: Refusals, nowMs: number) => boolean;
  readonly refusedText: (refusals: Refusals, nowMs: number) => string;
}

interface Refusals {
  readonly series: readonly { readonly count: number; readonly lastMs: number }[];
}

const { ageText, capital, counted, isLately, refusedText } = await loadModule<Words>("words.js");

test("an age has one unit, and is never negative", () => {
  for (const [seconds, text] of [
    [-5, "0 s"],
    [0.4, "0 s"],
    [99, "99 s"],
    [100, "2 min"],
    [99 * 60, "99 min"],
    [3 * 3600, "3 h"],
    [47 * 3600, "47 h"],
    [72 * 3600, "3 d"],
  ] as const)
    assert.equal(ageText(seconds * 1000), text);
});

test("states begin with a capital, and OK is written as people write it", () => {
  assert.equal(capital("below floor"), "Below floor");
  assert.equal(capital("ok"), "OK");
});

test("numbers agree with their nouns and are grouped", () => {
  assert.equal(counted(1, "entry", "entries"), "1 entry");
  assert.equal(counted(12480, "entry", "entries"), "12,480 entries");
});

test("refusals of more than ten minutes ago stand apart, so that they are not taken for the present trouble", () => {
  const nowMs = 3_600_000;
  const of = (...series: readonly (readonly [number, number])[]): Refusals => ({
    series: series.map(([count, secondsAgo]) => ({ count, lastMs: nowMs - secondsAgo * 1_000 })),
  });
  assert.equal(refusedText(of([1, 4]), nowMs), "Refused 1 time lately, last 4 s ago, Events say");
  assert.equal(
    refusedText(of([11, 12], [2, 900], [1_238, 1_930]), nowMs),
    "Refused 11 times lately, last 12 s ago; before that 1,240 times, last 15 min ago, Events say",
  );
  assert.equal(refusedText(of([240, 1_930]), nowMs), "Refused not lately, but 240 times, last 32 min ago, Events say");
  assert.deepEqual([isLately(of([240, 1_930]), nowMs), isLately(of([1, 600], [2, 900]), nowMs)], [false, true]);
});
