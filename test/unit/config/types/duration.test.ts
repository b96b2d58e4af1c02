import assert from "node:assert/strict";
import { test } from "node:test";
import { formatDuration, parseDurationMs } from "../../../../src/config/types/duration.ts";

const cases: readonly [string, number][] = [
  ["0", 0],
  ["0s", 0],
  ["1h2m3s", 3_723_000],
  ["100ms", 100],
  ["1.5s", 1500],
  [".5s", 500],
  ["1.s", 1000],
  ["1.1s", 1100],
  ["1us", 0.001],
  ["1µs", 0.001],
  ["1μs", 0.001],
  ["1500ns", 0.0015],
  ["-2s", -2000],
  ["+2s", 2000],
  ["1s1s", 2000],
  ["0.1h", 360_000],
];

test("Go's duration syntax is read exactly", () => {
  for (const [text, ms] of cases) assert.equal(parseDurationMs(text), ms, text);
});

test("what Go refuses is refused", () => {
  const bad = ["", "1", "s", ".s", "1x", "1 s", "1,5s", "1s ", "--1s", "1e3s", "1S", "∞", "٣s", `${"1".repeat(70)}s`];
  for (const text of bad) assert.equal(parseDurationMs(text), undefined, text);
});

test("durations are written as Go writes them", () => {
  const texts: readonly [number, string][] = [
    [0, "0s"],
    [0.000001, "1ns"],
    [0.0015, "1.5us"],
    [1.5, "1.5ms"],
    [100, "100ms"],
    [1500, "1.5s"],
    [75_000, "1m15s"],
    [60_000, "1m0s"],
    [3_723_000, "1h2m3s"],
    [3_600_000, "1h0m0s"],
    [-1500, "-1.5s"],
  ];
  for (const [ms, text] of texts) assert.equal(formatDuration(ms), text);
});

test("what is written is read back", () => {
  for (const [, ms] of cases) assert.equal(parseDurationMs(formatDuration(ms)), ms);
});
