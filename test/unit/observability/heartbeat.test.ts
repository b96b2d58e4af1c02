import assert from "node:assert/strict";
import { test } from "node:test";
import { createHeartbeat } from "../../../src/observability/heartbeat.ts";
import { createMetrics } from "../../../src/observability/metrics.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";

test("the heartbeat is sampled at the start and then once in each period, until the stop", async () => {
  const clock = createVirtualClock();
  const metrics = createMetrics({ byNamespace: false, byUser: false, ofProcess: false });
  const heartbeat = createHeartbeat({ clock, metrics, sampleFrequencyMs: 30_000 });
  const value = async (): Promise<string | undefined> => /^heartbeat (.+)$/m.exec((await metrics.expose()).text)?.[1];
  await clock.advance(2_000);
  await heartbeat.start();
  assert.equal(await value(), "2");
  await clock.advance(29_999);
  assert.equal(await value(), "2");
  await clock.advance(1);
  assert.equal(await value(), "32");
  await heartbeat.stop();
  assert.equal(clock.pendingTimers, 0);
});

test("each scrape has the wall clock of its moment, so that a scraper can compare it with its own", async () => {
  const clock = createVirtualClock();
  const metrics = createMetrics({ byNamespace: false, byUser: false, ofProcess: false });
  createHeartbeat({ clock, metrics, sampleFrequencyMs: 30_000 });
  const value = async (): Promise<number> =>
    Number(/^wall_clock_seconds (.+)$/m.exec((await metrics.expose()).text)?.[1]);
  const before = await value();
  assert.equal(before, clock.epochMicros() / 1e6);
  await clock.advance(1_500);
  assert.equal((await value()) - before, 1.5);
});
