import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Clock } from "../../../src/util/clock.ts";
import { type Outcome } from "../../../src/work-queue/work-queue.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";
import { conflict, createHarness, failure, repeat, success } from "./harness.ts";

describe("add", () => {
  it("processes keys in the order of their first add, each once however often it was added", async () => {
    const { clock, queue, run, starts } = createHarness({}, repeat(success, 3));
    for (const key of ["a", "b", "a", "c", "b"]) queue.add(key);
    assert.equal(queue.size, 3);
    run();
    await clock.advance(0);
    assert.deepEqual(
      starts.map(([, key]) => key),
      ["a", "b", "c"],
    );
    assert.equal(queue.size, 0);
  });

  it("never processes anything before it returns", async () => {
    const { clock, queue, run, starts } = createHarness();
    run();
    queue.add("a");
    assert.equal(starts.length, 0);
    await clock.advance(0);
    assert.equal(starts.length, 1);
  });

  it("of a key in work makes it run once more afterwards, not beside", async () => {
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

  it("by the work itself makes its own key run again", async () => {
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

  it("keeps as many keys in work as the concurrency allows", async () => {
    const { clock, queue, run, works } = createHarness({ concurrency: 2 });
    run();
    for (const key of ["a", "b", "c", "d"]) queue.add(key);
    await clock.advance(0);
    assert.deepEqual(
      works.map(({ key }) => key),
      ["a", "b"],
    );
    assert.equal(queue.size, 4);
    await works[1]!.end(success);
    assert.deepEqual(
      works.map(({ key }) => key),
      ["a", "b", "c"],
    );
  });

  it("refuses a new key when there are too many, and still takes known ones", async () => {
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
});

describe("addAfter", () => {
  it("queues the key at its moment", async () => {
    const { clock, queue, run, starts } = createHarness({}, [success]);
    run();
    queue.addAfter("a", 100);
    await clock.advance(99);
    assert.equal(starts.length, 0);
    await clock.advance(1);
    assert.deepEqual(starts, [[100, "a"]]);
    assert.equal(clock.pendingTimers, 0);
  });

  it("keeps the earlier of two moments, in either order", async () => {
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

  it("without a positive delay is add", async () => {
    const { clock, queue, run, starts } = createHarness({}, repeat(success, 2));
    run();
    queue.addAfter("a", 0);
    queue.addAfter("b", -5);
    await clock.advance(0);
    assert.equal(starts.length, 2);
  });

  it("is not cancelled by add", async () => {
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

  it("that falls due while the key is in work makes it run once more", async () => {
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

  it("survives a timer that rings before its time", async () => {
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

  it("with a delay that is not a number is a programming error", () => {
    assert.throws(() => createHarness().queue.addAfter("a", NaN), /delay/);
  });
});

describe("an outcome", () => {
  it("of failures is retried after base * 2^n up to the maximum", async () => {
    const { clock, queue, run, starts } = createHarness({}, [...repeat(failure, 6), success]);
    run();
    queue.add("a");
    await clock.advance(10_000);
    assert.deepEqual(
      starts.map(([atMs]) => atMs),
      [0, 100, 300, 700, 1500, 2500, 3500],
    );
  });

  it("of failures is retried however many there were, also without any backoff", async () => {
    const { clock, queue, run, starts } = createHarness({ backoffBaseMs: 0 }, [...repeat(failure, 1100), success]);
    run();
    queue.add("a");
    await clock.advance(0);
    assert.equal(starts.length, 1101);
  });

  it("of success forgets the failures before it", async () => {
    const { clock, queue, run, starts } = createHarness({}, [failure, failure, success, failure, success]);
    run();
    queue.add("a");
    await clock.advance(150);
    // While the second failure waits until 300, the key is added and succeeds; at 300 it fails as if for the first
    // time.
    queue.add("a");
    await clock.advance(1000);
    assert.deepEqual(
      starts.map(([atMs]) => atMs),
      [0, 100, 150, 300, 400],
    );
  });

  it("of success after a failure leaves nothing in memory", async () => {
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

  it("of conflict is retried within the conflict backoff and is no failure", async () => {
    const { clock, queue, run, starts } = createHarness({}, [failure, ...repeat(conflict, 3), failure, success]);
    run();
    queue.add("a");
    await clock.advance(10_000);
    // The harness draws 0.5 of 10 ms; the second failure is the second in a row, so it waits 200 ms.
    assert.deepEqual(
      starts.map(([atMs]) => atMs),
      [0, 100, 105, 110, 115, 315],
    );
  });

  it("that asks to come again is obeyed, a moment in the past at once", async () => {
    const { clock, queue, run, starts } = createHarness({}, [
      { kind: "done", requeueAfterMs: 70 },
      { kind: "done", requeueAfterMs: -3 },
      success,
    ]);
    run();
    queue.add("a");
    await clock.advance(1000);
    assert.deepEqual(
      starts.map(([atMs]) => atMs),
      [0, 70, 70],
    );
  });

  it("of failure does not hold back a key that is added again", async () => {
    const { clock, queue, run, starts } = createHarness({}, [failure, success, success]);
    run();
    queue.add("a");
    await clock.advance(10);
    queue.add("a");
    await clock.advance(10);
    assert.deepEqual(
      starts.map(([atMs]) => atMs),
      [0, 10],
    );
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
    it(`of work that ${how} is a failure, and the queue goes on`, async () => {
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

  it("is reported with the key and the duration", async () => {
    const { clock, queue, run, reconciles, takeWork } = createHarness();
    run();
    queue.add("a");
    await clock.advance(25);
    await takeWork().end(conflict);
    assert.deepEqual(reconciles, [{ durationMs: 25, kind: "conflict", key: "a" }]);
  });
});

describe("run", () => {
  it("starts nothing before it is called, also what has fallen due meanwhile", async () => {
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

  it("resolves at once when it is stopped with nothing in work, and leaves no timer", async () => {
    const { clock, queue, run, stop, hasStopped } = createHarness();
    run();
    queue.addAfter("a", 100);
    assert.equal(clock.pendingTimers, 1);
    stop.abort();
    await clock.advance(0);
    assert.equal(hasStopped(), true);
    assert.equal(clock.pendingTimers, 0);
  });

  it("when stopped tells the work, waits for all of it, and starts nothing more", async () => {
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

  it("starts nothing for a key that was added just before the stop", async () => {
    const { clock, queue, run, stop, starts, hasStopped } = createHarness();
    run();
    queue.add("a");
    stop.abort();
    await clock.advance(0);
    assert.equal(starts.length, 0);
    assert.equal(hasStopped(), true);
    assert.equal(queue.size, 1);
  });

  it("with an aborted signal resolves without work", async () => {
    const { clock, queue, starts } = createHarness();
    queue.add("a");
    await queue.run(AbortSignal.abort());
    await clock.advance(0);
    assert.equal(starts.length, 0);
  });

  it("may follow a stopped run and goes on with what is queued, waiting or failing", async () => {
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

  it("twice at the same time is a programming error", () => {
    const { queue, run, stop } = createHarness();
    run();
    assert.throws(() => queue.run(new AbortController().signal), /once at a time/);
    stop.abort();
  });
});
