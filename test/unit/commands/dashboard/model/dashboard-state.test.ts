import assert from "node:assert/strict";
import { test } from "node:test";
import { DashboardState } from "../../../../../src/commands/dashboard/model/dashboard-state.ts";
import { createVirtualClock, drainMicrotasks } from "../../../../support/virtual-clock.ts";

const never = new AbortController().signal;

test("whoever waits is woken by a change, and by the end of the wait", async () => {
  const clock = createVirtualClock();
  const state = new DashboardState(clock, { cores: ["core"], namespace: undefined });
  let woken = 0;
  const wait = (): void => void state.whenChanged(state.version, 1000, never).then(() => woken++);
  wait();
  state.changed();
  await drainMicrotasks();
  assert.equal(woken, 1);
  wait();
  await clock.advance(999);
  assert.equal(woken, 1);
  await clock.advance(1);
  assert.equal(woken, 2);
  assert.equal(clock.pendingTimers, 0);
});

test("a change that was missed does not let anybody wait", async () => {
  const state = new DashboardState(createVirtualClock(), { cores: ["core"], namespace: undefined });
  const { version } = state;
  state.changed();
  await state.whenChanged(version, 1000, never);
});

test("an abort ends the wait and leaves no timer", async () => {
  const clock = createVirtualClock();
  const state = new DashboardState(clock, { cores: ["core"], namespace: undefined });
  const stop = new AbortController();
  const waiting = state.whenChanged(state.version, 1000, stop.signal);
  stop.abort();
  await waiting;
  assert.equal(clock.pendingTimers, 0);
  await state.whenChanged(state.version, 1000, stop.signal);
});

test("a problem is shown while it lasts, and its repetition is no change", () => {
  const state = new DashboardState(createVirtualClock(), { cores: ["core"], namespace: undefined });
  state.setProblem("core", "cells", "no right");
  const { version } = state;
  state.setProblem("core", "cells", "no right");
  assert.equal(state.version, version);
  assert.deepEqual(state.problems, [{ core: "core", text: "no right" }]);
  state.setProblem("core", "cells", undefined);
  assert.deepEqual(state.problems, []);
  assert.notEqual(state.version, version);
});

test("it is complete when all that is awaited has arrived", () => {
  const state = new DashboardState(createVirtualClock(), { cores: ["core"], namespace: undefined });
  state.await("a");
  state.await("b");
  state.arrived("a");
  assert.equal(state.isComplete, false);
  state.arrived("b");
  assert.equal(state.isComplete, true);
});
