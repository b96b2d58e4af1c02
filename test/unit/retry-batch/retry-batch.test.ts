import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cancelled, createHarness, done, recordingObserver } from "./harness.ts";
import { at } from "../../support/moment.ts";

const overloaded = { kind: "overloaded" } as const;

describe("the cold-start delay", () => {
  it("is not paid by requests that follow each other within a second", async () => {
    const { clock, submit, takeExecution } = createHarness({ coldStartDelayMs: 1000 });
    submit("key", "a");
    await clock.advance(1000);
    await takeExecution().succeed();
    await clock.advance(999);
    submit("key", "b");
    await clock.advance(0);
    await takeExecution().succeed();
    await clock.advance(999);
    submit("key", "c");
    await clock.advance(0);
    assert.deepEqual(takeExecution().requests, ["c"]);
  });

  it("is paid again once the key has been idle for a second", async () => {
    const { clock, submit, executions, takeExecution } = createHarness({ coldStartDelayMs: 500 });
    submit("key", "a");
    await clock.advance(500);
    await takeExecution().succeed();
    await clock.advance(1000);
    submit("key", "b");
    await clock.advance(499);
    assert.equal(executions.length, 0);
    await clock.advance(1);
    assert.deepEqual(takeExecution().requests, ["b"]);
  });

  it("is of each key alone", async () => {
    const { clock, submit, executions, takeExecution } = createHarness({ coldStartDelayMs: 500 });
    submit("one", "a");
    await clock.advance(500);
    await takeExecution().succeed();
    submit("other", "b");
    await clock.advance(499);
    assert.equal(executions.length, 0);
  });
});

describe("a limit", () => {
  it("refuses a request for a key that has too many unsettled ones, the executing ones included", async () => {
    const { clock, submit, takeExecution } = createHarness({ queuedPerKeyMax: 2 });
    submit("key", "a");
    await clock.advance(0);
    const execution = takeExecution();
    submit("key", "b");
    const refused = submit("key", "c");
    await clock.advance(0);
    assert.deepEqual(refused.outcome, overloaded);
    await execution.succeed();
    const accepted = submit("key", "d");
    await clock.advance(0);
    await takeExecution().succeed();
    assert.deepEqual(accepted.outcome, done("d"));
  });

  it("counts a request that has left no longer", async () => {
    const { clock, submit } = createHarness({ queuedPerKeyMax: 1, coldStartDelayMs: 100 });
    const gone = new AbortController();
    submit("key", "a", { signal: gone.signal });
    gone.abort();
    const accepted = submit("key", "b");
    await clock.advance(0);
    assert.equal(accepted.outcome, undefined);
  });

  it("refuses a further key while too many are active, and takes it when one has ended", async () => {
    const { clock, submit, executions } = createHarness({ keysMax: 2 });
    submit("one", "a");
    submit("two", "b");
    const refused = submit("three", "c");
    await clock.advance(0);
    assert.deepEqual(refused.outcome, overloaded);
    await executions[0]!.succeed();
    const accepted = submit("three", "d");
    await clock.advance(0);
    await executions[2]!.succeed();
    assert.deepEqual(accepted.outcome, done("d"));
  });

  it("on keys is not used up by warm ones", async () => {
    const { clock, submit, takeExecution } = createHarness({ keysMax: 1 });
    for (const key of ["one", "two", "three"]) {
      const submitted = submit(key, "a");
      await clock.advance(0);
      await takeExecution().succeed();
      assert.deepEqual(submitted.outcome, done("a"));
    }
  });

  it("on keys is also that of the warm ones remembered; the oldest is forgotten first", async () => {
    const { clock, submit, executions, takeExecution } = createHarness({ keysMax: 1, coldStartDelayMs: 100 });
    for (const key of ["one", "two"]) {
      submit(key, "a");
      await clock.advance(100);
      await takeExecution().succeed();
    }
    submit("one", "b");
    await clock.advance(99);
    assert.equal(executions.length, 0);
    await clock.advance(1);
    await takeExecution().succeed();
    submit("one", "c");
    await clock.advance(0);
    assert.deepEqual(takeExecution().requests, ["c"]);
  });

  it("below 1 is a programming error", () => {
    assert.throws(() => createHarness({ keysMax: 0 }), /at least 1/);
  });
});

describe("a submission", () => {
  it("with a signal that has aborted, or a deadline that has passed, is cancelled without work", async () => {
    const { clock, submit, executions } = createHarness();
    await clock.advance(10);
    const submitted = [
      submit("key", "a", { signal: AbortSignal.abort() }),
      submit("key", "b", { deadlineMonotonicMs: at(10) }),
    ];
    await clock.advance(1000);
    for (const { outcome } of submitted) assert.deepEqual(outcome, cancelled);
    assert.equal(executions.length, 0);
  });

  it("leaves no listener on its signal when it has settled", async () => {
    const { clock, pool, takeExecution } = createHarness();
    const { signal } = new AbortController();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (type: string, listener: EventListener, options?: AddEventListenerOptions) => {
      listeners++;
      add(type, listener, options);
    };
    signal.removeEventListener = (type: string, listener: EventListener) => {
      listeners--;
      remove(type, listener);
    };
    const outcome = pool.submit("key", "a", { signal });
    assert.equal(listeners, 1);
    await clock.advance(0);
    await takeExecution().succeed();
    assert.deepEqual(await outcome, done("a"));
    assert.equal(listeners, 0);
  });
});

describe("drain", () => {
  it("finishes what was accepted, retries and delays included, and then resolves", async () => {
    const { clock, pool, submit, takeExecution } = createHarness({ coldStartDelayMs: 100 });
    const accepted = submit("key", "a");
    let drained = false;
    void pool.drain().then(() => (drained = true));
    await clock.advance(100);
    await takeExecution().end({ kind: "retry", delayMs: 50 });
    await clock.advance(50);
    assert.equal(drained, false);
    await takeExecution().succeed();
    assert.deepEqual(accepted.outcome, done("a"));
    assert.equal(drained, true);
    assert.equal(clock.pendingTimers, 0);
  });

  it("refuses further requests, for a busy key too", async () => {
    const { clock, pool, submit } = createHarness();
    submit("key", "a");
    void pool.drain();
    const refused = [submit("key", "b"), submit("new", "c")];
    await clock.advance(0);
    for (const { outcome } of refused) assert.deepEqual(outcome, overloaded);
  });

  it("resolves at once when nothing is accepted, and again when asked twice", async () => {
    const { pool } = createHarness();
    await pool.drain();
    await pool.drain();
  });

  it("waits for an execution whose callers have all gone", async () => {
    const { clock, pool, submit, takeExecution } = createHarness();
    const gone = new AbortController();
    submit("key", "a", { signal: gone.signal });
    await clock.advance(0);
    const execution = takeExecution();
    gone.abort();
    let drained = false;
    void pool.drain().then(() => (drained = true));
    await clock.advance(1000);
    assert.equal(drained, false);
    await execution.succeed();
    assert.equal(drained, true);
  });
});

describe("the observer", () => {
  it("hears of a batch with a conflict: executions, attempts, durations and keys in memory", async () => {
    const { observer, submits, executes, batches, inflightKeys } = recordingObserver();
    const { clock, submit, takeExecution } = createHarness({ observer, coldStartDelayMs: 5 });
    submit("key", "a");
    await clock.advance(5);
    const first = takeExecution();
    submit("key", "b");
    await clock.advance(20);
    await first.end({ kind: "retry", delayMs: 100 });
    await clock.advance(100);
    await clock.advance(7);
    await takeExecution().succeed();
    assert.deepEqual(executes, [
      { size: 1, kind: "retry", durationMs: 20 },
      { size: 2, kind: "success", durationMs: 7 },
    ]);
    assert.deepEqual(batches, [{ key: "key", durationMs: 127, attempts: 2 }]);
    assert.deepEqual(submits, [
      { key: "key", durationMs: 127, attempts: 1, outcome: done("b") },
      { key: "key", durationMs: 132, attempts: 2, outcome: done("a") },
    ]);
    assert.deepEqual(inflightKeys, [1, 0]);
  });

  it("hears of refused, failed and cancelled submissions, and of the end of a batch that everybody left", async () => {
    const { observer, submits, batches } = recordingObserver();
    const { clock, submit, takeExecution } = createHarness({ observer, queuedPerKeyMax: 1 });
    submit("key", "a", { deadlineMonotonicMs: at(50) });
    submit("key", "b");
    await clock.advance(0);
    await takeExecution().end({ kind: "retry", delayMs: 100 });
    await clock.advance(100);
    submit("key", "c");
    await clock.advance(0);
    await takeExecution().end({ kind: "error", error: "boom" });
    assert.deepEqual(
      submits.map(({ outcome, attempts }) => [outcome.kind, attempts]),
      [
        ["overloaded", 0],
        ["cancelled", 1],
        ["failed", 1],
      ],
    );
    assert.deepEqual(
      batches.map(({ attempts }) => attempts),
      [1, 1],
    );
  });
});
