import assert from "node:assert/strict";
import test from "node:test";
import { WallClockSteps } from "../../../src/aggregator/wall-clock-steps.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";

test("a step of the wall clock in either direction is told once, with its size", async () => {
  const clock = createVirtualClock();
  const steps = new WallClockSteps(clock);
  await clock.advance(100_000);
  assert.equal(steps.take(), 0, "time that passes is no step");
  clock.jumpWallClock(3_600_000);
  assert.equal(Math.round(steps.take()), 3_600_000);
  assert.equal(steps.take(), 0);
  clock.jumpWallClock(-7_200_000);
  assert.equal(Math.round(steps.take()), -7_200_000);
  assert.equal(steps.take(), 0);
});

test("small corrections are told when they have added up to a second", async () => {
  const clock = createVirtualClock();
  const steps = new WallClockSteps(clock);
  const told: number[] = [];
  for (let correction = 0; correction < 30; correction++) {
    clock.jumpWallClock(100);
    await clock.advance(1000);
    const stepMs = steps.take();
    if (stepMs !== 0) told.push(Math.round(stepMs));
  }
  assert.equal(told.length, 3);
  for (const stepMs of told) assert.ok(stepMs >= 999 && stepMs <= 1100, String(stepMs));
});
