import assert from "node:assert/strict";
import { test } from "node:test";
import { uniform } from "../../../src/util/rng.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { grows, leastOfWindows, type Point, secondHalf, trendOf } from "./trend.ts";

const runSeconds = 900;
const everySeconds = 5;
const slack = 4;

/** Samples of a whole run. */
function sampled(valueAt: (seconds: number) => number): readonly Point[] {
  return Array.from({ length: runSeconds / everySeconds }, (_, index) => {
    const seconds = index * everySeconds;
    return { seconds, value: valueAt(seconds) };
  });
}

function isLeak(samples: readonly Point[]): boolean {
  return grows(trendOf(leastOfWindows(secondHalf(samples, runSeconds))), slack);
}

test("noise about a constant never counts as growth", () => {
  for (let seed = 0; seed < 500; seed += 1) {
    const rng = createSeededRng(seed);
    const samples = sampled(() => 40 + uniform(rng, 0, 20));
    assert.equal(isLeak(samples), false, `seed ${seed}`);
  }
});

test("a leak of a megabyte a minute is found beside twenty megabytes of garbage in every tenth sample", () => {
  for (let seed = 0; seed < 500; seed += 1) {
    const rng = createSeededRng(seed);
    // A sample finds garbage now and then, as a busy process does not collect at once.
    const noise = (): number => (rng.next() < 0.1 ? uniform(rng, 0, 20) : uniform(rng, 0, 1));
    assert.equal(isLeak(sampled((seconds) => 40 + seconds / 60 + noise())), true, `seed ${seed}`);
  }
});

test("what comes and goes with the load is no growth", () => {
  const samples = sampled((seconds) => 40 + 15 * Math.sin(seconds / 20));
  assert.equal(isLeak(samples), false);
});

test("what grows in the first half only is a process that warms up", () => {
  assert.equal(isLeak(sampled((seconds) => Math.min(seconds, runSeconds / 2) / 10)), false);
});

test("a steady growth within the slack is allowed, and one beyond it is not", () => {
  const growing = (by: number): readonly Point[] => sampled((seconds) => (by * seconds * 2) / runSeconds);
  assert.equal(isLeak(growing(slack)), false);
  assert.equal(isLeak(growing(slack * 1.2)), true);
});

test("too few samples, and samples that are no numbers, count as growth, since they prove nothing", () => {
  assert.equal(isLeak(sampled(() => 40).slice(0, 100)), true);
  assert.equal(isLeak(sampled(() => Number.NaN)), true);
});

test("the line through points on a line is that line", () => {
  const points = [0, 10, 20, 30].map((seconds) => ({ seconds, value: 7 + seconds / 2 }));
  assert.deepEqual(trendOf(points), { growth: 15, scatter: 0, last: 22 });
});
