import assert from "node:assert/strict";
import { test } from "node:test";
import { Freshness, type ProvableWatch } from "../../../../src/aggregator/watching/freshness.ts";
import { silenceTimes } from "../../../../src/accounting/silence/silence-times.ts";
import { longAgo, type MonotonicMs } from "../../../../src/util/clock.ts";
import { at } from "../../../support/moment.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";

const times = silenceTimes(180_000);

class Watch implements ProvableWatch {
  barrierSentAtMs: MonotonicMs = longAgo;
  barrierWaitsSinceMs: MonotonicMs | undefined;
  readonly asked: number[] = [];
  relists = 0;
  wantBarrier(fromMs: MonotonicMs): void {
    this.asked.push(fromMs);
  }
  relist(): void {
    this.relists += 1;
  }
}

function freshness(): { readonly watch: Watch; readonly fresh: Freshness } {
  const watch = new Watch();
  return { watch, fresh: new Freshness(watch, times, createSeededRng(1)) };
}

test("a barrier is asked for at once and then every 20 s, however often one looks", () => {
  const { watch, fresh } = freshness();
  for (let ms = 0; ms <= 60_000; ms += 1000) fresh.keep(at(ms));
  assert.deepEqual(watch.asked, [0, 20_000, 40_000, 60_000]);
  assert.equal(watch.relists, 0);
});

test("a watch is proven by a barrier that was sent lately, not by one that was passed lately", () => {
  const { watch, fresh } = freshness();
  assert.equal(fresh.isProven(at(0), 90_000), false);
  watch.barrierSentAtMs = at(10_000);
  assert.equal(fresh.isProven(at(100_000), 90_000), true);
  assert.equal(fresh.isProven(at(100_001), 90_000), false);
});

test("a barrier that is not passed within 65 to 75 s makes it list again, at most once a minute", () => {
  const { watch, fresh } = freshness();
  watch.barrierWaitsSinceMs = at(0);
  const relistedAtMs: number[] = [];
  for (let ms = 0; ms <= 200_000; ms += 100) {
    const before = watch.relists;
    fresh.keep(at(ms));
    if (watch.relists > before) relistedAtMs.push(ms);
  }
  const [first = 0, second = 0, third] = relistedAtMs;
  assert.ok(first >= 65_000 && first <= 75_000, `${first}`);
  assert.equal(second, first + 60_000);
  assert.equal(third, second + 60_000);
});

test("a barrier that was passed in time causes no list", () => {
  const { watch, fresh } = freshness();
  for (let ms = 0; ms <= 300_000; ms += 1000) {
    watch.barrierWaitsSinceMs = at(ms - (ms % 60_000));
    fresh.keep(at(ms));
  }
  assert.equal(watch.relists, 0);
});
