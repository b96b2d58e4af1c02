import assert from "node:assert/strict";
import { test } from "node:test";
import { type ResourceVersion } from "../../../../src/api/resource-version.ts";
import { BarrierTracker, Freshness, type ProvableWatch } from "../../../../src/aggregator/watching/barrier.ts";
import { silenceTimes } from "../../../../src/accounting/silence/silence-times.ts";
import { longAgo, type MonotonicMs } from "../../../../src/util/clock.ts";
import { at } from "../../../support/moment.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createVirtualClock, type VirtualClock } from "../../../support/virtual-clock.ts";
import { version } from "../../accounting/samples.ts";

interface Bench {
  readonly clock: VirtualClock;
  readonly tracker: BarrierTracker;
  /** Moments at which LISTs were sent. */
  readonly sentAtMs: number[];
  readonly happened: string[];
  /** Answers LISTs. */
  answer: () => ResourceVersion | Promise<ResourceVersion>;
  readonly leadership: AbortController;
}

function bench(): Bench {
  const clock = createVirtualClock();
  const sentAtMs: number[] = [];
  const happened: string[] = [];
  const tracker = new BarrierTracker({
    clock,
    async list(signal) {
      sentAtMs.push(clock.monotonicMs());
      const answered = await self.answer();
      if (signal.aborted) throw new Error("aborted");
      return answered;
    },
    relist: () => happened.push("relist"),
    onPassed: () => happened.push(`passed ${self.tracker.passedSentAtMs}`),
    onWaiting: () => happened.push("waiting"),
    onWentBack: (to) => happened.push(`back to ${to}`),
    onHistoryReset: ({ barrier, snapshot }) => happened.push(`reset ${barrier} below ${snapshot}`),
    onError: () => happened.push("error"),
    onErrorsOver: ({ lastedSeconds }) => happened.push(`over after ${lastedSeconds} s`),
  });
  const self: Bench = {
    clock,
    tracker,
    sentAtMs,
    happened,
    answer: () => version(10),
    leadership: new AbortController(),
  };
  return self;
}

function started(): Bench {
  const self = bench();
  self.tracker.start(self.leadership.signal);
  return self;
}

test("a barrier is sent strictly after the wanted moment, and is passed when the snapshot has reached it", async () => {
  const { clock, tracker, sentAtMs, happened } = started();
  tracker.progressed(version(5));
  await clock.advance(100);
  tracker.want(at(100));
  await clock.advance(50);
  assert.deepEqual(sentAtMs, [101]);
  assert.deepEqual(happened, ["waiting"]);
  tracker.progressed(version(9));
  assert.equal(tracker.passedSentAtMs, -Infinity);
  tracker.progressed(version(10));
  assert.equal(tracker.passedSentAtMs, 101);
  assert.deepEqual(happened, ["waiting", "passed 101"]);
});

test("a barrier at or below the snapshot is passed at once", async () => {
  const { clock, tracker, happened } = started();
  tracker.progressed(version(10));
  tracker.want(at(0));
  await clock.advance(10);
  assert.deepEqual(happened, ["passed 1"]);
});

test("a barrier that is wanted from a later moment is sent then, one that is wanted earlier before it", async () => {
  const { clock, tracker, sentAtMs } = started();
  tracker.progressed(version(10));
  tracker.want(at(75_000));
  tracker.want(at(3000));
  await clock.advance(74_000);
  assert.deepEqual(sentAtMs, [3001]);
  tracker.want(at(75_000));
  await clock.advance(2000);
  assert.deepEqual(sentAtMs, [3001, 75_001]);
});

test("many requests share a barrier: one that was sent later, is in flight or was passed is enough", async () => {
  const self = started();
  const { clock, tracker, sentAtMs } = self;
  let release = (): void => {};
  self.answer = () => new Promise((resolve) => (release = () => resolve(version(10))));
  await clock.advance(50);
  for (let wish = 0; wish < 100; wish++) tracker.want(at(wish / 2));
  await clock.advance(10);
  tracker.want(at(7));
  release();
  await clock.advance(5000);
  tracker.want(at(7));
  await clock.advance(5000);
  tracker.progressed(version(10));
  tracker.want(at(7));
  await clock.advance(5000);
  assert.equal(sentAtMs.length, 1);
});

test("a request that a list covers meanwhile sends nothing, and does not hide a later one", async () => {
  const { clock, tracker, sentAtMs } = bench();
  const leadership = new AbortController();
  tracker.progressed(version(10));
  tracker.want(at(10));
  await clock.advance(20);
  tracker.listed(at(20));
  tracker.want(at(4000));
  tracker.start(leadership.signal);
  await clock.advance(10_000);
  assert.deepEqual(sentAtMs, [4001]);
});

test("LISTs keep 200 ms between them, however often they are wanted", async () => {
  const { clock, tracker, sentAtMs } = started();
  tracker.progressed(version(10));
  for (let tick = 0; tick < 100; tick++) {
    tracker.want(clock.monotonicMs());
    await clock.advance(20);
  }
  assert.ok(sentAtMs.length >= 9 && sentAtMs.length <= 11, `${sentAtMs.length} LISTs in 2 s`);
});

test("a failed LIST is repeated every two seconds until it works, and told when that begins and ends", async () => {
  const self = started();
  const { clock, tracker, sentAtMs, happened } = self;
  tracker.progressed(version(10));
  self.answer = () => Promise.reject(new Error("no"));
  tracker.want(at(0));
  await clock.advance(9000);
  assert.deepEqual(sentAtMs, [1, 2001, 4001, 6001, 8001]);
  assert.deepEqual(happened, ["error"]);
  self.answer = () => version(10);
  await clock.advance(9000);
  assert.equal(sentAtMs.length, 6);
  assert.deepEqual(happened, ["error", "over after 10 s", "passed 10001"]);
  assert.equal(tracker.passedSentAtMs, 10_001);
});

test("a barrier below what the watch had delivered is a reset of history, and is not passed", async () => {
  const { clock, tracker, happened } = started();
  tracker.progressed(version(11));
  tracker.want(at(0));
  await clock.advance(5000);
  assert.deepEqual(happened, ["reset 10 below 11"]);
  assert.equal(tracker.passedSentAtMs, -Infinity);
});

test("after a reset the versions of before mean nothing", async () => {
  const { clock, tracker, happened } = started();
  tracker.progressed(version(1000));
  tracker.listed(at(0));
  tracker.reset();
  assert.equal(tracker.passedSentAtMs, -Infinity);
  tracker.want(clock.monotonicMs());
  await clock.advance(5000);
  tracker.progressed(version(12));
  assert.deepEqual(happened, ["passed 0", "waiting", "passed 1"]);
});

test("a snapshot that goes back has passed nothing any more, and a barrier is sent to find out why", async () => {
  const { clock, tracker, happened, sentAtMs } = started();
  tracker.progressed(version(10));
  tracker.want(at(0));
  await clock.advance(2000);
  assert.equal(tracker.passedSentAtMs, 1);
  tracker.progressed(version(8));
  assert.equal(tracker.passedSentAtMs, -Infinity);
  await clock.advance(2000);
  assert.equal(sentAtMs.length, 2);
  // The worker is still at 10, so the list came from a server that lags.
  assert.deepEqual(happened, ["passed 1", "back to 8", "waiting"]);
  tracker.progressed(version(10));
  assert.equal(happened.at(-1), "passed 2001");
});

test("a snapshot that went back to where the worker is shows a reset", async () => {
  const self = started();
  self.tracker.progressed(version(1000));
  self.tracker.progressed(version(8));
  await self.clock.advance(2000);
  assert.deepEqual(self.happened, ["back to 8", "reset 10 below 1000"]);
});

test("the answer of a LIST that was sent before the snapshot went back proves nothing", async () => {
  const self = started();
  const { clock, tracker, happened, sentAtMs } = self;
  let release = (): void => {};
  self.answer = () => new Promise((resolve) => (release = () => resolve(version(7))));
  tracker.progressed(version(7));
  tracker.want(at(0));
  await clock.advance(10);
  tracker.progressed(version(5));
  tracker.progressed(version(7));
  release();
  self.answer = () => version(7);
  await clock.advance(0);
  assert.equal(tracker.passedSentAtMs, -Infinity);
  await clock.advance(2000);
  assert.deepEqual(sentAtMs, [1, 201]);
  assert.equal(happened.at(-1), "passed 201");
});

test("nothing is sent before the start or after the end, and no timer is left", async () => {
  const { clock, tracker, sentAtMs } = bench();
  const leadership = new AbortController();
  tracker.want(at(0));
  await clock.advance(5000);
  assert.deepEqual(sentAtMs, []);
  tracker.start(leadership.signal);
  await clock.advance(10);
  assert.deepEqual(sentAtMs, [5000]);
  tracker.want(at(60_000));
  leadership.abort();
  tracker.want(at(70_000));
  assert.equal(clock.pendingTimers, 0);
  await clock.advance(100_000);
  assert.equal(sentAtMs.length, 1);
});

test("a LIST that the end of a term cut off is sent again in the next term", async () => {
  const self = started();
  const { clock, tracker, sentAtMs, happened } = self;
  let release = (): void => {};
  self.answer = () => new Promise((resolve) => (release = () => resolve(version(10))));
  tracker.progressed(version(10));
  tracker.want(at(0));
  await clock.advance(10);
  self.leadership.abort();
  tracker.start(new AbortController().signal);
  // Counted on the LIST that is under way.
  tracker.want(at(0));
  release();
  self.answer = () => version(10);
  await clock.advance(3000);
  assert.equal(sentAtMs.length, 2);
  assert.deepEqual(happened, ["passed 201"]);
});

test("a watch that always lags passes barriers anyway, however many are wanted meanwhile", async () => {
  for (const lagMs of [5_000, 30_000, 300_000]) {
    const self = started();
    const { clock, tracker } = self;
    // The version of the cluster is its time; the watch is `lagMs` behind.
    self.answer = () => version(1000 + clock.monotonicMs());
    let oldestUnservedMs = 0;
    let longestWaitMs = 0;
    while (clock.monotonicMs() < 10 * lagMs) {
      tracker.want(clock.monotonicMs());
      await clock.advance(500);
      tracker.progressed(version(1000 + Math.max(0, clock.monotonicMs() - lagMs)));
      longestWaitMs = Math.max(longestWaitMs, clock.monotonicMs() - oldestUnservedMs);
      oldestUnservedMs = Math.max(oldestUnservedMs, tracker.passedSentAtMs);
    }
    assert.ok(longestWaitMs <= 2 * lagMs + 5_000, `${longestWaitMs} ms with a lag of ${lagMs} ms`);
  }
});

test("LISTs that a silent watch never reaches do not pile up: the oldest and the newest of them count", async () => {
  const self = started();
  const { clock, tracker } = self;
  let at = 100;
  self.answer = () => version(++at);
  tracker.progressed(version(50));
  for (let wish = 0; wish < 30; wish++) {
    tracker.want(clock.monotonicMs());
    await clock.advance(1500);
  }
  tracker.progressed(version(101));
  assert.equal(tracker.passedSentAtMs, 1);
  tracker.progressed(version(at - 1));
  assert.ok(tracker.passedSentAtMs < 12_000, "those between were dropped");
  tracker.progressed(version(at));
  assert.ok(tracker.passedSentAtMs > 40_000);
});

const times = silenceTimes(180_000);

class Watch implements ProvableWatch {
  passedSentAtMs: MonotonicMs = longAgo;
  waitingSinceMs: MonotonicMs | undefined;
  readonly asked: number[] = [];
  relists = 0;
  want(fromMs: MonotonicMs): void {
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
  watch.passedSentAtMs = at(10_000);
  assert.equal(fresh.isProven(at(100_000), 90_000), true);
  assert.equal(fresh.isProven(at(100_001), 90_000), false);
});

test("a barrier that is not passed within 65 to 75 s makes it list again, at most once a minute", () => {
  const { watch, fresh } = freshness();
  watch.waitingSinceMs = at(0);
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
    watch.waitingSinceMs = at(ms - (ms % 60_000));
    fresh.keep(at(ms));
  }
  assert.equal(watch.relists, 0);
});
