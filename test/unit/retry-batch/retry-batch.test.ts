import assert from "node:assert/strict";
import { test } from "node:test";
import { cancelled, createHarness, done, recordingObserver } from "./harness.ts";
import { at } from "../../support/moment.ts";

const overloaded = { kind: "overloaded" } as const;

test("requests that follow each other within a second have no cold-start delay", async () => {
  const { clock, submit, next, succeedAfter } = createHarness({ coldStartDelayMs: 1000 });
  submit("key", "a");
  await succeedAfter(1000);
  await clock.advance(999);
  submit("key", "b");
  await succeedAfter(0);
  await clock.advance(999);
  submit("key", "c");
  assert.deepEqual((await next(0)).requests, ["c"]);
});

test("a key that has been idle for a second has the cold-start delay again", async () => {
  const { clock, submit, executions, next, succeedAfter } = createHarness({ coldStartDelayMs: 500 });
  submit("key", "a");
  await succeedAfter(500);
  await clock.advance(1000);
  submit("key", "b");
  await clock.advance(499);
  assert.equal(executions.length, 0);
  assert.deepEqual((await next(1)).requests, ["b"]);
});

test("the cold-start delay is separate for each key", async () => {
  const { clock, submit, executions, succeedAfter } = createHarness({ coldStartDelayMs: 500 });
  submit("one", "a");
  await succeedAfter(500);
  submit("other", "b");
  await clock.advance(499);
  assert.equal(executions.length, 0);
});

test("a request for a key with too many unsettled ones is overloaded, the executing ones included", async () => {
  const { clock, submit, next, succeedAfter } = createHarness({ queuedPerKeyMax: 2 });
  submit("key", "a");
  const execution = await next(0);
  submit("key", "b");
  const refused = submit("key", "c");
  await clock.advance(0);
  assert.deepEqual(refused.outcome, overloaded);
  await execution.succeed();
  const accepted = submit("key", "d");
  await succeedAfter(0);
  assert.deepEqual(accepted.outcome, done("d"));
});

test("a request that has left does not count against the limit", async () => {
  const { clock, submit } = createHarness({ queuedPerKeyMax: 1, coldStartDelayMs: 100 });
  const gone = new AbortController();
  submit("key", "a", { signal: gone.signal });
  gone.abort();
  const accepted = submit("key", "b");
  await clock.advance(0);
  assert.equal(accepted.outcome, undefined);
});

test("a further key is overloaded while too many are active, and accepted when one has ended", async () => {
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

test("warm keys do not count against the limit of keys", async () => {
  const { submit, succeedAfter } = createHarness({ keysMax: 1 });
  for (const key of ["one", "two", "three"]) {
    const submitted = submit(key, "a");
    await succeedAfter(0);
    assert.deepEqual(submitted.outcome, done("a"));
  }
});

test("no more warm keys are remembered than the limit of keys; the oldest is forgotten first", async () => {
  const { clock, submit, executions, next, succeedAfter } = createHarness({ keysMax: 1, coldStartDelayMs: 100 });
  for (const key of ["one", "two"]) {
    submit(key, "a");
    await succeedAfter(100);
  }
  submit("one", "b");
  await clock.advance(99);
  assert.equal(executions.length, 0);
  await succeedAfter(1);
  submit("one", "c");
  assert.deepEqual((await next(0)).requests, ["c"]);
});

test("a limit below 1 is a programmer error", () => {
  assert.throws(() => createHarness({ keysMax: 0 }), /at least 1/);
});

test("a submission with an aborted signal or a passed deadline is cancelled without work", async () => {
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

test("a settled submission leaves no listener on its signal", async () => {
  const { pool, succeedAfter } = createHarness();
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
  await succeedAfter(0);
  assert.deepEqual(await outcome, done("a"));
  assert.equal(listeners, 0);
});

test("drain finishes what was accepted, retries and delays included, and then resolves", async () => {
  const { clock, pool, submit, takeExecution, next } = createHarness({ coldStartDelayMs: 100 });
  const accepted = submit("key", "a");
  let drained = false;
  void pool.drain().then(() => (drained = true));
  await (await next(100)).end({ kind: "retry", delayMs: 50 });
  await clock.advance(50);
  assert.equal(drained, false);
  await takeExecution().succeed();
  assert.deepEqual(accepted.outcome, done("a"));
  assert.equal(drained, true);
  assert.equal(clock.pendingTimers, 0);
});

test("drain refuses further requests, for a busy key too", async () => {
  const { clock, pool, submit } = createHarness();
  submit("key", "a");
  void pool.drain();
  const refused = [submit("key", "b"), submit("new", "c")];
  await clock.advance(0);
  for (const { outcome } of refused) assert.deepEqual(outcome, overloaded);
});

test("drain resolves at once when nothing is accepted, and also when it is called twice", async () => {
  const { pool } = createHarness();
  await pool.drain();
  await pool.drain();
});

test("drain waits for an execution whose callers are all gone", async () => {
  const { clock, pool, submit, next } = createHarness();
  const gone = new AbortController();
  submit("key", "a", { signal: gone.signal });
  const execution = await next(0);
  gone.abort();
  let drained = false;
  void pool.drain().then(() => (drained = true));
  await clock.advance(1000);
  assert.equal(drained, false);
  await execution.succeed();
  assert.equal(drained, true);
});

test("the observer sees a batch with a conflict: executions, attempts, durations and keys in memory", async () => {
  const { observer, submits, executes, batches, inflightKeys } = recordingObserver();
  const { clock, submit, next, succeedAfter } = createHarness({ observer, coldStartDelayMs: 5 });
  submit("key", "a");
  const first = await next(5);
  submit("key", "b");
  await clock.advance(20);
  await first.end({ kind: "retry", delayMs: 100 });
  await clock.advance(100);
  await succeedAfter(7);
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

test("the observer sees refused, failed and cancelled submissions, and the end of an abandoned batch", async () => {
  const { observer, submits, batches } = recordingObserver();
  const { clock, submit, next } = createHarness({ observer, queuedPerKeyMax: 1 });
  submit("key", "a", { deadlineMonotonicMs: at(50) });
  submit("key", "b");
  await (await next(0)).end({ kind: "retry", delayMs: 100 });
  await clock.advance(100);
  submit("key", "c");
  await (await next(0)).end({ kind: "error", error: "boom" });
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

test("the observer sees each result that nobody waits for any more, and no other", async () => {
  const { observer, unclaimed } = recordingObserver();
  const { clock, submit, next } = createHarness({ observer });
  const gone = new AbortController();
  submit("key", "stays");
  submit("key", "leaves", { signal: gone.signal });
  submit("key", "in time", { deadlineMonotonicMs: at(50) });
  submit("key", "late", { deadlineMonotonicMs: at(10) });
  const first = await next(0);
  gone.abort();
  await clock.advance(20);
  await first.succeed();
  assert.deepEqual(new Set(unclaimed.map(({ result }) => result)), new Set(["ok late", "ok leaves"]));
  submit("key", "fails", { deadlineMonotonicMs: at(30) });
  const second = await next(0);
  await clock.advance(20);
  await second.end({ kind: "error", error: "boom" });
  assert.equal(unclaimed.length, 2, "nothing was written");
});
