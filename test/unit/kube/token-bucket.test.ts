import assert from "node:assert/strict";
import { test } from "node:test";
import { createTokenBucket } from "../../../src/kube/token-bucket.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";

test("a burst goes at once, the rest in order at the rate, and a quiet time fills the bucket again", async () => {
  const clock = createVirtualClock();
  const bucket = createTokenBucket({ qps: 10, burst: 3 }, clock);
  const times: number[] = [];
  const take = (): void => void bucket.take(Number.POSITIVE_INFINITY).then(() => times.push(clock.monotonicMs()));
  for (let call = 0; call < 6; call++) take();
  await clock.advance(1_000);
  assert.deepEqual(times, [0, 0, 0, 100, 200, 300]);
  times.length = 0;
  for (let call = 0; call < 4; call++) take();
  await clock.advance(1_000);
  assert.deepEqual(times, [1_000, 1_000, 1_000, 1_100]);
});

test("a caller that cannot wait takes nothing, and an aborted one gives the token back", async () => {
  const clock = createVirtualClock();
  const bucket = createTokenBucket({ qps: 1, burst: 1 }, clock);
  assert.equal(await bucket.take(0), true);
  assert.equal(await bucket.take(999), false);
  const controller = new AbortController();
  const aborted = bucket.take(5_000, controller.signal);
  controller.abort();
  assert.equal(await aborted, false);
  assert.equal(await bucket.take(5_000, controller.signal), false);
  const taken = bucket.take(1_000);
  await clock.advance(1_000);
  assert.equal(await taken, true);
  assert.equal(clock.pendingTimers, 0);
});

test("an available token is taken at once, and never before callers that wait", async () => {
  const clock = createVirtualClock();
  const bucket = createTokenBucket({ qps: 10, burst: 2 }, clock);
  assert.deepEqual([bucket.takeNow(), bucket.takeNow(), bucket.takeNow()], [true, true, false]);
  const waiting = bucket.take(1_000);
  assert.equal(bucket.takeNow(), false);
  await clock.advance(100);
  assert.equal(await waiting, true);
  assert.equal(bucket.takeNow(), false, "the token of that moment is taken");
  await clock.advance(100);
  assert.equal(bucket.takeNow(), true);
});

test("a rate of 0 or less does not limit", async () => {
  const bucket = createTokenBucket({ qps: 0, burst: 0 }, createVirtualClock());
  for (let call = 0; call < 1_000; call++) assert.equal(await bucket.take(0), true);
  assert.equal(bucket.takeNow(), true);
});
