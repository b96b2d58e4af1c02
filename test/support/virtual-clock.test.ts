import assert from "node:assert/strict";
import { test } from "node:test";
import { sleep } from "../../src/util/clock.ts";
import { createSeededRng } from "./seeded-rng.ts";
import { createVirtualClock } from "./virtual-clock.ts";

test("timers fire in the order of their due times, and equal ones in the order they were set", async () => {
  const clock = createVirtualClock();
  const fired: string[] = [];
  clock.setTimer(20, () => fired.push(`late at ${clock.monotonicMs()}`));
  clock.setTimer(10, () => fired.push(`first at ${clock.monotonicMs()}`));
  clock.setTimer(10, () => fired.push(`second at ${clock.monotonicMs()}`));
  await clock.advance(15);
  assert.deepEqual(fired, ["first at 10", "second at 10"]);
  assert.equal(clock.pendingTimers, 1);
  await clock.advance(5);
  assert.deepEqual(fired.at(-1), "late at 20");
});

test("what a timer wakes runs to its next wait before the next timer fires", async () => {
  const clock = createVirtualClock();
  const times: number[] = [];
  const loop = (async () => {
    for (let round = 0; round < 3; round++) {
      await sleep(clock, 100);
      await Promise.resolve();
      times.push(clock.monotonicMs());
    }
  })();
  await clock.advance(1_000);
  await loop;
  assert.deepEqual(times, [100, 200, 300]);
  assert.equal(clock.monotonicMs(), 1_000);
});

test("a cancelled timer never fires, and an aborted sleep leaves no timer behind", async () => {
  const clock = createVirtualClock();
  clock.setTimer(5, () => assert.fail("cancelled")).cancel();
  const controller = new AbortController();
  const sleeping = sleep(clock, 50, controller.signal);
  controller.abort();
  await sleeping;
  assert.equal(clock.pendingTimers, 0);
  await clock.advance(100);
});

test("a jump of the wall clock leaves the monotonic clock alone", async () => {
  const clock = createVirtualClock({ epochMs: 1_000_000 });
  await clock.advance(10);
  clock.jumpWallClock(-5_000);
  assert.equal(clock.epochMicros(), 995_010_000);
  assert.equal(clock.monotonicMs(), 10);
});

test("the same seed gives the same numbers, all in [0, 1) and well spread", () => {
  const draw = (seed: number): number[] =>
    Array.from(
      { length: 1_000 },
      (
        (rng) => () =>
          rng.next()
      )(createSeededRng(seed)),
    );
  assert.deepEqual(draw(7), draw(7));
  assert.notDeepEqual(draw(7), draw(8));
  const numbers = draw(1);
  assert.ok(numbers.every((number) => number >= 0 && number < 1));
  const mean = numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
  assert.ok(Math.abs(mean - 0.5) < 0.05, `mean ${mean}`);
});
