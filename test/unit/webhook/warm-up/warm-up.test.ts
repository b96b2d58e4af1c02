import assert from "node:assert/strict";
import { test } from "node:test";
import { later } from "../../../../src/util/clock.ts";
import { warmUp } from "../../../../src/webhook/index.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { RecordedLog, RecordedMetrics, settings, settle } from "../support/replica.ts";

/** The options of a webhook of which nothing may be used: its core answers nothing. */
function ofWebhook() {
  const clock = createVirtualClock();
  const log = new RecordedLog();
  const metrics = new RecordedMetrics();
  const options = {
    ...settings,
    clock,
    rng: createSeededRng(1),
    logger: log,
    metrics,
    cores: [],
    refusalHoldMs: 60_000,
  };
  return { clock, log, metrics, options };
}

test("thousands of made-up reviews are answered, admitted and refused, and nobody sees any of it", async () => {
  const { clock, log, metrics, options } = ofWebhook();
  const { reviews, admitted } = await settle(clock, warmUp(options));
  assert.equal(reviews, 4000);
  assert.ok(admitted > reviews / 2, `${admitted} of ${reviews} admitted`);
  assert.ok(admitted < reviews, "none was refused");
  assert.deepEqual(log.lines, []);
  assert.deepEqual(metrics.values, new Map());
});

test("a slow machine waits for it for a second at most", async () => {
  const { clock, options } = ofWebhook();
  let readings = 0;
  // Each look at the clock takes a millisecond.
  const slow = { ...options.clock, monotonicMs: () => later(clock.monotonicMs(), readings++) };
  const { reviews, durationMs } = await settle(clock, warmUp({ ...options, clock: slow }));
  assert.ok(reviews > 0 && reviews < 4000, `${reviews} reviews`);
  assert.ok(durationMs >= 1000 && durationMs < 2000, `${durationMs} ms`);
});
