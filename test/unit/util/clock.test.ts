import assert from "node:assert/strict";
import { test } from "node:test";
import { getEventListeners } from "node:events";
import { sleep } from "../../../src/util/clock.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";
import { createSystemClock } from "../../../src/util/system-clock.ts";
import { Outage } from "../../../src/util/outage.ts";
import { linkedAbort } from "../../../src/util/linked-abort.ts";
import { createSystemRng, randomHex, secretHex, uniform } from "../../../src/util/rng.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";

test("a sleep ends after its delay and leaves no timer", async () => {
  const clock = createVirtualClock();
  let awake = false;
  const sleeping = sleep(clock, 100).then(() => (awake = true));
  await clock.advance(99);
  assert.equal(awake, false);
  await clock.advance(1);
  await sleeping;
  assert.equal(clock.pendingTimers, 0);
});

test("an abort ends it early without an error, and removes the timer", async () => {
  const clock = createVirtualClock();
  const controller = new AbortController();
  const sleeping = sleep(clock, 100, controller.signal);
  assert.equal(clock.pendingTimers, 1);
  controller.abort();
  await sleeping;
  assert.equal(clock.pendingTimers, 0);
});

test("a signal that was aborted before sets no timer", async () => {
  const clock = createVirtualClock();
  await sleep(clock, 100, AbortSignal.abort());
  assert.equal(clock.pendingTimers, 0);
});

test("a long-lived signal keeps no listener of a sleep that has ended", async () => {
  const clock = createVirtualClock();
  const controller = new AbortController();
  let listeners = 0;
  const { signal } = controller;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...args: Parameters<typeof add>): void => {
    listeners += 1;
    add(...args);
  };
  signal.removeEventListener = (...args: Parameters<typeof remove>): void => {
    listeners -= 1;
    remove(...args);
  };
  const sleeping = sleep(clock, 10, signal);
  assert.equal(listeners, 1);
  await clock.advance(10);
  await sleeping;
  assert.equal(listeners, 0);
});

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

test("an outage is told when it begins and when it fails in another way, and has a length when it ends", async () => {
  const clock = createVirtualClock();
  const outage = new Outage(clock);
  assert.equal(outage.ended(), undefined);
  const told: boolean[] = [];
  for (const how of ["network", "network", "timeout", "network", "timeout"]) {
    told.push(outage.failed(how));
    await clock.advance(1_230);
  }
  assert.deepEqual(told, [true, false, true, false, false]);
  assert.deepEqual(outage.ended(), { lastedSeconds: 6.2 });
  assert.equal(outage.ended(), undefined);
});

test("an outage after another is told again, and its length begins anew", async () => {
  const clock = createVirtualClock();
  const outage = new Outage(clock);
  outage.failed("network");
  await clock.advance(60_000);
  outage.ended();
  await clock.advance(60_000);
  assert.equal(outage.failed("network"), true);
  await clock.advance(500);
  assert.deepEqual(outage.ended(), { lastedSeconds: 0.5 });
});

test("it aborts with its parent, now or later, and by itself without the parent", () => {
  const parent = new AbortController();
  const linked = linkedAbort(parent.signal);
  assert.equal(linked.signal.aborted, false);
  parent.abort();
  assert.equal(linked.signal.aborted, true);
  assert.equal(linkedAbort(parent.signal).signal.aborted, true);
  const other = new AbortController();
  const own = linkedAbort(other.signal);
  own.abort();
  assert.deepEqual([own.signal.aborted, other.signal.aborted], [true, false]);
});

test("a parent that lives on keeps nothing of what has ended", () => {
  const parent = new AbortController();
  for (let term = 0; term < 3; term += 1) {
    using linked = linkedAbort(parent.signal);
    assert.equal(linked.signal.aborted, false);
    assert.equal(getEventListeners(parent.signal, "abort").length, 1);
  }
  assert.equal(getEventListeners(parent.signal, "abort").length, 0);
});

test("uniform stays in its half-open range and reaches both ends of it", () => {
  assert.equal(uniform({ next: () => 0 }, 3, 5), 3);
  assert.ok(uniform({ next: () => 0.999999 }, 3, 5) < 5);
  assert.equal(uniform({ next: () => 0.5 }, 3, 5), 4);
  assert.equal(uniform({ next: () => 0.7 }, 2, 2), 2);
});

test("random texts have exactly the digits that were asked for", () => {
  const rng = createSeededRng(1);
  for (const digits of [0, 1, 16]) assert.match(randomHex(rng, digits), new RegExp(`^[0-9a-f]{${digits}}$`));
  assert.equal(new Set(Array.from({ length: 1000 }, () => randomHex(rng, 16))).size, 1000);
  assert.equal(randomHex({ next: () => 1 - Number.EPSILON }, 2), "ff");
});

test("the machine's own numbers are in [0, 1) and not all the same", () => {
  const rng = createSystemRng();
  const numbers = Array.from({ length: 100 }, () => rng.next());
  assert.ok(numbers.every((number) => number >= 0 && number < 1));
  assert.ok(new Set(numbers).size > 90);
});

test("a secret has exactly the digits that were asked for, and is another one each time", () => {
  for (const digits of [0, 1, 32]) assert.match(secretHex(digits), new RegExp(`^[0-9a-f]{${digits}}$`));
  assert.notEqual(secretHex(32), secretHex(32));
});
