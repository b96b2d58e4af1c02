import assert from "node:assert/strict";
import { test } from "node:test";
import { createSystemClock } from "../../../src/util/system-clock.ts";

test("the monotonic clock never goes back and the wall clock is in whole microseconds", () => {
  const clock = createSystemClock();
  let last = clock.monotonicMs();
  for (let count = 0; count < 1000; count += 1) {
    const nowMs = clock.monotonicMs();
    assert.ok(nowMs >= last);
    last = nowMs;
  }
  assert.ok(Number.isSafeInteger(clock.epochMicros()));
  assert.ok(Math.abs(clock.epochMicros() / 1000 - Date.now()) < 60_000);
});

test("a timer fires later, never synchronously, also with a delay of 0 or below", async () => {
  const clock = createSystemClock();
  for (const delayMs of [0, -5]) {
    let isSynchronous = true;
    await new Promise<void>((resolve) => {
      clock.setTimer(delayMs, () => {
        assert.equal(isSynchronous, false);
        resolve();
      });
      isSynchronous = false;
    });
  }
});

test("a cancelled timer does not fire, and one beyond setTimeout's limit does not fire at once", async () => {
  const clock = createSystemClock();
  const fired: string[] = [];
  clock.setTimer(0, () => fired.push("cancelled")).cancel();
  const far = clock.setTimer(2 ** 31, () => fired.push("far"));
  await new Promise<void>((resolve) => void clock.setTimer(5, resolve));
  far.cancel();
  assert.deepEqual(fired, []);
});
