import assert from "node:assert/strict";
import { test } from "node:test";
import { Suspensions } from "../../../src/util/suspensions.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";

const options = { leastMs: 45_000, spacingMs: 75_000 };

test("a step of the wall clock forward looks like a suspension, and is told once", async () => {
  const clock = createVirtualClock();
  const suspensions = new Suspensions(clock, options);
  await clock.advance(3_600_000);
  assert.equal(suspensions.lastedMs(), undefined);
  clock.jumpWallClock(45_000);
  assert.equal(suspensions.lastedMs(), 45_000);
  assert.equal(suspensions.lastedMs(), undefined);
});

test("short suspensions add up; a step back does not, and what follows counts from there", () => {
  const clock = createVirtualClock();
  const suspensions = new Suspensions(clock, options);
  clock.jumpWallClock(30_000);
  assert.equal(suspensions.lastedMs(), undefined);
  clock.jumpWallClock(30_000);
  assert.equal(suspensions.lastedMs(), 60_000);
  clock.jumpWallClock(-3_600_000);
  assert.equal(suspensions.lastedMs(), undefined);
});

test("a second one within the spacing is told at its end", async () => {
  const clock = createVirtualClock();
  const suspensions = new Suspensions(clock, options);
  clock.jumpWallClock(600_000);
  assert.equal(suspensions.lastedMs(), 600_000);
  clock.jumpWallClock(60_000);
  await clock.advance(74_999);
  assert.equal(suspensions.lastedMs(), undefined);
  await clock.advance(1);
  assert.equal(suspensions.lastedMs(), 60_000);
});
