import assert from "node:assert/strict";
import { test } from "node:test";
import { loadModule } from "./modules.ts";

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
  assert.equal(refusedText(of([1, 4]), nowMs), "Refused 1 time lately, last 4 s ago");
  assert.equal(
    refusedText(of([11, 12], [2, 900], [1_238, 1_930]), nowMs),
    "Refused 11 times lately, last 12 s ago; before that 1,240 times, last 15 min ago",
  );
  assert.equal(refusedText(of([240, 1_930]), nowMs), "Refused not lately, but 240 times, last 32 min ago");
  assert.deepEqual([isLately(of([240, 1_930]), nowMs), isLately(of([1, 600], [2, 900]), nowMs)], [false, true]);
});
