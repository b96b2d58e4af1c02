import assert from "node:assert/strict";
import { test } from "node:test";
import { sleep } from "../../../src/util/clock.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";

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
