import assert from "node:assert/strict";
import { test } from "node:test";
import { type Burden, createBackoff } from "../../../../src/kube/watch/backoff.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";

test("the range doubles from 0.8 s to 30 s, and starts over after two minutes without a failure", async () => {
  const clock = createVirtualClock();
  const highest = createBackoff(clock, { next: () => 1 });
  const delays = Array.from({ length: 8 }, () => highest.nextDelayMs("heavy"));
  assert.deepEqual(delays, [800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]);
  await clock.advance(119_000);
  assert.equal(highest.nextDelayMs("heavy"), 30_000);
  await clock.advance(120_000);
  assert.equal(highest.nextDelayMs("heavy"), 800);
});

test("attempts that cost the server nothing are 5 s apart at most, and bring the range down to that", () => {
  const highest = createBackoff(createVirtualClock(), { next: () => 1 });
  const delaysOf = (burden: Burden, count: number): number[] =>
    Array.from({ length: count }, () => highest.nextDelayMs(burden));
  assert.deepEqual(delaysOf("light", 6), [800, 1_600, 3_200, 5_000, 5_000, 5_000]);
  assert.deepEqual(delaysOf("heavy", 5), [5_000, 10_000, 20_000, 30_000, 30_000]);
  assert.deepEqual(delaysOf("light", 2), [5_000, 5_000]);
  assert.deepEqual(delaysOf("heavy", 2), [5_000, 10_000]);
});

test("the jitter is full: the shortest pause is none", () => {
  const lowest = createBackoff(createVirtualClock(), { next: () => 0 });
  assert.equal(lowest.nextDelayMs("light"), 0);
  assert.equal(lowest.nextDelayMs("heavy"), 0);
});
