import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Clock } from "../../../src/util/clock.ts";
import { type Outcome } from "../../../src/work-queue/work-queue.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";
import { conflict, createHarness, failure, repeat, success } from "./harness.ts";

test("keys are processed in the order of their first add, each once however often it was added", async () => {
  const { clock, queue, run, startKeys } = createHarness({}, repeat(success, 3));
  for (const key of ["a", "b", "a", "c", "b"]) queue.add(key);
  assert.equal(queue.size, 3);
  run();
  await clock.advance(0);
  assert.deepEqual(startKeys(), ["a", "b", "c"]);
  assert.equal(queue.size, 0);
});

test("groups take turns, so that nobody fills the queue for the others", async () => {
  const { clock, queue, run, starts } = createHarness({ groupOf: ([group = ""]) => group }, repeat(success, 7));
  for (const key of ["a1", "a2", "a3", "b1", "a4", "b2", "c1"]) queue.add(key);
  run();
  await clock.advance(0);
  assert.equal(starts.map(([, key]) => key).join(" "), "a1 b1 c1 a2 b2 a3 a4");
});

test("add never processes anything before it returns", async () => {
  const { clock, queue, run, starts } = createHarness();
  run();
  queue.add("a");
  assert.equal(starts.length, 0);
  await clock.advance(0);
  assert.equal(starts.length, 1);
});

test("adding a key that is being processed makes it run once more afterwards, not in parallel", async () => {
  const { clock, queue, run, works, takeWork } = createHarness({ concurrency: 3 });
  run();
  queue.add("a");
  await clock.advance(0);
  const first = takeWork();
  queue.add("a");
  queue.add("a");
  await clock.advance(1000);
  assert.equal(works.length, 0);
  assert.equal(queue.size, 1);
  await first.end(success);
  await takeWork().end(success);
  assert.equal(works.length, 0);
});

test("a key that its own processing adds runs again", async () => {
  const { clock, queue, run, starts } = createHarness({
    process: async (key) => {
      if (starts.push([0, key]) === 1) queue.add(key);
      return success;
    },
  });
  run();
  queue.add("a");
  await clock.advance(0);
  assert.equal(starts.length, 2);
});

test("as many keys are processed at once as the concurrency allows", async () => {
  const { clock, queue, run, works } = createHarness({ concurrency: 2 });
  run();
  for (const key of ["a", "b", "c", "d"]) queue.add(key);
  await clock.advance(0);
  assert.equal(works.map(({ key }) => key).join(), "a,b");
  assert.equal(queue.size, 4);
  await works[1]!.end(success);
  assert.equal(works.map(({ key }) => key).join(), "a,b,c");
});

test("a new key is refused when there are too many, and known ones are still accepted", async () => {
  const { clock, queue, run, takeWork } = createHarness({ keysMax: 2 });
  assert.equal(queue.add("a"), true);
  assert.equal(queue.addAfter("b", 1000), true);
  assert.equal(queue.add("c"), false);
  assert.equal(queue.addAfter("c", 10), false);
  assert.equal(queue.add("a"), true);
  assert.equal(queue.addAfter("b", 500), true);
  run();
  await clock.advance(0);
  await takeWork().end(success);
  assert.equal(queue.add("c"), true, "a key that succeeded leaves nothing");
});

test("addAfter queues the key at its moment", async () => {
  const { clock, queue, run, starts } = createHarness({}, [success]);
  run();
  queue.addAfter("a", 100);
  await clock.advance(99);
  assert.equal(starts.length, 0);
  await clock.advance(1);
  assert.deepEqual(starts, [[100, "a"]]);
  assert.equal(clock.pendingTimers, 0);
});

test("addAfter keeps the earlier of two moments, in either order", async () => {
  const { clock, queue, run, starts } = createHarness({}, repeat(success, 2));
  run();
  queue.addAfter("a", 100);
  queue.addAfter("a", 300);
  queue.addAfter("b", 300);
  queue.addAfter("b", 50);
  await clock.advance(1000);
  assert.deepEqual(starts, [
    [50, "b"],
    [100, "a"],
  ]);
});

test("addAfter without a positive delay is add", async () => {
  const { clock, queue, run, starts } = createHarness({}, repeat(success, 2));
  run();
  queue.addAfter("a", 0);
  queue.addAfter("b", -5);
  await clock.advance(0);
  assert.equal(starts.length, 2);
});

test("add does not cancel the wait of addAfter", async () => {
  const { clock, queue, run, starts } = createHarness({}, repeat(success, 2));
  run();
  queue.addAfter("a", 100);
  await clock.advance(10);
  queue.add("a");
  await clock.advance(1000);
  assert.deepEqual(starts, [
    [10, "a"],
    [100, "a"],
  ]);
});

test("a wait that ends while the key is being processed makes it run once more", async () => {
  const { clock, queue, run, works, takeWork } = createHarness();
  run();
  queue.add("a");
  queue.addAfter("a", 100);
  await clock.advance(500);
  const first = takeWork();
  await first.end(success);
  await takeWork().end(success);
  assert.equal(works.length, 0);
});

test("a timer that fires too early does no harm", async () => {
  const clock = createVirtualClock();
  const delaysMs: number[] = [];
  const hasty: Clock = {
    monotonicMs: () => clock.monotonicMs(),
    epochMicros: () => clock.epochMicros(),
    // Only the first timer is hasty.
    setTimer: (delayMs, callback) => clock.setTimer(delaysMs.push(delayMs) === 1 ? delayMs - 0.5 : delayMs, callback),
  };
  const { queue, run, starts } = createHarness({ clock: hasty }, [success]);
  run();
  queue.addAfter("a", 100);
  await clock.advance(99.5);
  assert.equal(starts.length, 0);
  await clock.advance(0.5);
  assert.equal(starts.length, 1);
  assert.deepEqual(delaysMs, [100, 0.5]);
});

test("a delay that is not a number is a programmer error", () => {
  assert.throws(() => createHarness().queue.addAfter("a", NaN), /delay/);
});

describe("an outcome", () => {
  test("failures are retried after base * 2^n up to the maximum", async () => {
    const { clock, queue, run, startTimes } = createHarness({}, [...repeat(failure, 6), success]);
    run();
    queue.add("a");
    await clock.advance(10_000);
    assert.deepEqual(startTimes(), [0, 100, 300, 700, 1500, 2500, 3500]);
  });

  test("failures are retried however many there were, also without any backoff", async () => {
    const { clock, queue, run, starts } = createHarness({ backoffBaseMs: 0 }, [...repeat(failure, 1100), success]);
    run();
    queue.add("a");
    await clock.advance(0);
    assert.equal(starts.length, 1101);
  });

  test("a success forgets the failures before it", async () => {
    const { clock, queue, run, startTimes } = createHarness({}, [failure, failure, success, failure, success]);
    run();
    queue.add("a");
    await clock.advance(150);
    // While the second failure waits until 300, the key is added and succeeds; at 300 it fails as if for the first
    // time.
    queue.add("a");
    await clock.advance(1000);
    assert.deepEqual(startTimes(), [0, 100, 150, 300, 400]);
  });

  test("a success after a failure leaves nothing in memory", async () => {
    const { clock, queue, run } = createHarness({ keysMax: 1 }, [failure, success]);
    run();
    queue.add("a");
    await clock.advance(0);
    assert.equal(queue.add("b"), false);
    assert.equal(queue.size, 1);
    await clock.advance(100);
    assert.equal(queue.size, 0);
    assert.equal(queue.add("b"), true);
  });

  test("a conflict is retried within the conflict backoff and is not a failure", async () => {
    const { clock, queue, run, startTimes } = createHarness({}, [failure, ...repeat(conflict, 3), failure, success]);
    run();
    queue.add("a");
    await clock.advance(10_000);
    // The harness draws 0.5 of 10 ms; the second failure is the second in a row, so it waits 200 ms.
    assert.deepEqual(startTimes(), [0, 100, 105, 110, 115, 315]);
  });

  test("a requeue is done at its moment, and at once when that is in the past", async () => {
    const { clock, queue, run, startTimes } = createHarness({}, [
      { kind: "done", requeueAfterMs: 70 },
      { kind: "done", requeueAfterMs: -3 },
      success,
    ]);
    run();
    queue.add("a");
    await clock.advance(1000);
    assert.deepEqual(startTimes(), [0, 70, 70]);
  });

  test("a failed key that is added again does not wait for its backoff", async () => {
    const { clock, queue, run, startTimes } = createHarness({}, [failure, success, success]);
    run();
    queue.add("a");
    await clock.advance(10);
    queue.add("a");
    await clock.advance(10);
    assert.deepEqual(startTimes(), [0, 10]);
  });

  for (const [how, process] of [
    [
      "throws",
      () => {
        throw new Error("boom");
      },
    ],
    ["rejects", () => Promise.reject(new Error("boom"))],
  ] as const) {
    test(`processing that ${how} is a failure, and the queue goes on`, async () => {
      const seen: Outcome[] = [];
      const { clock, queue, run } = createHarness({
        process,
        observer: { onReconcile: (_ms, outcome) => seen.push(outcome) },
      });
      run();
      queue.add("a");
      await clock.advance(100);
      assert.deepEqual(seen, repeat({ kind: "failed", error: new Error("boom") }, 2));
    });
  }

  test("an outcome is reported with the key and the duration", async () => {
    const { clock, queue, run, reconciles, takeWork } = createHarness();
    run();
    queue.add("a");
    await clock.advance(25);
    await takeWork().end(conflict);
    assert.deepEqual(reconciles, [{ durationMs: 25, kind: "conflict", key: "a" }]);
  });
});

test("nothing is processed before run is called, and then also what is due by then", async () => {
  const { clock, queue, run, starts } = createHarness({}, repeat(success, 2));
  queue.add("a");
  queue.addAfter("b", 100);
  await clock.advance(500);
  assert.equal(starts.length, 0);
  assert.equal(clock.pendingTimers, 0);
  run();
  await clock.advance(0);
  assert.deepEqual(starts, [
    [500, "a"],
    [500, "b"],
  ]);
});

test("run resolves at once when it is stopped while nothing is processed, and leaves no timer", async () => {
  const { clock, queue, run, stop, hasStopped } = createHarness();
  run();
  queue.addAfter("a", 100);
  assert.equal(clock.pendingTimers, 1);
  stop.abort();
  await clock.advance(0);
  assert.equal(hasStopped(), true);
  assert.equal(clock.pendingTimers, 0);
});

test("a stopped run aborts the signal of the work, waits for all of it, and starts nothing more", async () => {
  const { clock, queue, run, stop, works, hasStopped } = createHarness({ concurrency: 2 });
  run();
  for (const key of ["a", "b", "c"]) queue.add(key);
  await clock.advance(0);
  stop.abort();
  assert.ok(works.every(({ signal }) => signal.aborted));
  await works[0]!.end(failure);
  assert.equal(hasStopped(), false);
  await works[1]!.end(success);
  assert.equal(hasStopped(), true);
  await clock.advance(10_000);
  assert.equal(works.length, 2);
  assert.equal(clock.pendingTimers, 0);
});

test("a key that was added just before the stop is not processed", async () => {
  const { clock, queue, run, stop, starts, hasStopped } = createHarness();
  run();
  queue.add("a");
  stop.abort();
  await clock.advance(0);
  assert.equal(starts.length, 0);
  assert.equal(hasStopped(), true);
  assert.equal(queue.size, 1);
});

test("run with an aborted signal resolves without work", async () => {
  const { clock, queue, starts } = createHarness();
  queue.add("a");
  await queue.run(AbortSignal.abort());
  await clock.advance(0);
  assert.equal(starts.length, 0);
});

test("a run after a stopped one goes on with what is queued, waiting or failing", async () => {
  const { clock, queue, run, stop, starts, works, takeWork } = createHarness();
  run();
  queue.add("failing");
  queue.add("queued");
  queue.addAfter("waiting", 1000);
  await clock.advance(0);
  stop.abort();
  await takeWork().end(failure);
  const again = new AbortController();
  void queue.run(again.signal);
  await clock.advance(0);
  await takeWork().end(success);
  await clock.advance(100);
  await takeWork().end(success);
  await clock.advance(900);
  await takeWork().end(success);
  assert.deepEqual(starts.slice(1), [
    [0, "queued"],
    [100, "failing"],
    [1000, "waiting"],
  ]);
  assert.equal(works.length, 0);
  again.abort();
});

test("two runs at the same time are a programmer error", () => {
  const { queue, run, stop } = createHarness();
  run();
  assert.throws(() => queue.run(new AbortController().signal), /once at a time/);
  stop.abort();
});
