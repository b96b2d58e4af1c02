import assert from "node:assert/strict";
import test from "node:test";
import { createBackoff } from "../../../src/kube/watch/backoff.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";

test("the range doubles from 0.8 s to 30 s, and starts anew after two minutes without a failure", async () => {
  const clock = createVirtualClock();
  const highest = createBackoff(clock, { next: () => 1 });
  const delays = Array.from({ length: 8 }, () => highest.nextDelayMs());
  assert.deepEqual(delays, [800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]);
  await clock.advance(119_000);
  assert.equal(highest.nextDelayMs(), 30_000);
  await clock.advance(120_000);
  assert.equal(highest.nextDelayMs(), 800);
});

test("the jitter is full: the shortest pause is none", () => {
  assert.equal(createBackoff(createVirtualClock(), { next: () => 0 }).nextDelayMs(), 0);
});
