import assert from "node:assert/strict";
import { test } from "node:test";
import { recordLate } from "../../../../src/webhook/outage/late-records.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";

function recorder() {
  const clock = createVirtualClock();
  const state = { isOpen: true, tries: 0 };
  const stopped = new AbortController();
  const record = async (): Promise<void> => {
    state.tries += 1;
  };
  const done = recordLate({ isOpen: () => state.isOpen, record }, clock, createSeededRng(1), stopped.signal);
  return { clock, state, stopped, done };
}

test("what is open is tried every 3 to 5 seconds until it is recorded, and no timer is left behind", async () => {
  const { clock, state, done } = recorder();
  await clock.advance(2_999);
  assert.equal(state.tries, 0);
  await clock.advance(12_001);
  assert.ok(state.tries >= 3 && state.tries <= 5, `${state.tries}`);
  state.isOpen = false;
  await clock.advance(5_000);
  assert.equal(clock.pendingTimers, 0);
  await done;
});

test("a stop ends the tries at once", async () => {
  const { clock, state, stopped, done } = recorder();
  stopped.abort();
  await done;
  await clock.advance(10_000);
  assert.equal(state.tries, 0);
  assert.equal(clock.pendingTimers, 0);
});
