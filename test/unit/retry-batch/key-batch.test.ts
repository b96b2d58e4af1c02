import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { attemptsMax } from "../../../src/retry-batch/key-batch.ts";
import { later } from "../../../src/util/clock.ts";
import { createHarness, done } from "./harness.ts";

test("a burst that arrives in one turn is one batch, newest first, even without a cold-start delay", async () => {
  const { clock, submit, next } = createHarness();
  const burst = ["a", "b", "c"].map((request) => submit("key", request));
  const execution = await next(0);
  assert.deepEqual(execution.requests, ["c", "b", "a"]);
  await execution.succeed();
  const outcomes = burst.map(({ outcome }) => outcome);
  assert.deepEqual(outcomes, [done("a"), done("b"), done("c")]);
  assert.equal(clock.pendingTimers, 0);
});

test("requests that have waited in a line before go first, in the order of their turns", async () => {
  const { submit, next } = createHarness({ batchSizeMax: 3 });
  submit("key", "a");
  submit("key", "second", { turn: 2 });
  submit("key", "b");
  submit("key", "first", { turn: 1 });
  const execution = await next(0);
  assert.deepEqual(execution.requests, ["first", "second", "b"]);
  // So it is after a conflict.
  submit("key", "c");
  submit("key", "third", { turn: 3 });
  await execution.end({ kind: "retry", delayMs: 0 });
  assert.deepEqual((await next(0)).requests, ["first", "second", "third"]);
});

test("a batch waits for the cold-start delay and includes requests that arrive meanwhile", async () => {
  const { clock, submit, executions, next } = createHarness({ coldStartDelayMs: 100 });
  submit("key", "a");
  await clock.advance(60);
  submit("key", "b");
  await clock.advance(39);
  assert.equal(executions.length, 0);
  assert.deepEqual((await next(1)).requests, ["b", "a"]);
});

test("requests that arrive during an execution form the next batch, however long it takes", async () => {
  const { clock, submit, executions, next } = createHarness();
  submit("key", "a");
  const first = await next(0);
  const late = [submit("key", "b"), submit("key", "c")];
  await clock.advance(60_000);
  assert.equal(executions.length, 0);
  await first.succeed();
  const second = await next(0);
  assert.deepEqual(second.requests, ["c", "b"]);
  await second.succeed();
  const outcomes = late.map(({ outcome }) => outcome);
  assert.deepEqual(outcomes, [done("b"), done("c")]);
});

test("a batch does not make another key wait", async () => {
  const { clock, submit, executions } = createHarness();
  submit("one", "a");
  submit("other", "b");
  await clock.advance(0);
  assert.deepEqual(
    executions.map(({ key, requests }) => [key, ...requests]),
    [
      ["one", "a"],
      ["other", "b"],
    ],
  );
});

test("there is no cold-start delay after an execution while requests wait", async () => {
  const { submit, next } = createHarness({ coldStartDelayMs: 1000 });
  submit("key", "a");
  const first = await next(1000);
  submit("key", "b");
  await first.succeed();
  assert.deepEqual((await next(0)).requests, ["b"]);
});

test("a batch that would be too large leaves the oldest requests for the next execution", async () => {
  const { submit, next } = createHarness({ batchSizeMax: 2 });
  for (const request of ["a", "b", "c", "d", "e"]) submit("key", request);
  const order: (readonly string[])[] = [];
  for (let round = 0; round < 3; round++) {
    const execution = await next(0);
    order.push(execution.requests);
    await execution.succeed();
  }
  assert.deepEqual(order, [["e", "d"], ["c", "b"], ["a"]]);
});

test("after a conflict the batch runs again after its delay, with the requests that have joined since", async () => {
  const { clock, submit, executions, next } = createHarness();
  const all = [submit("key", "a"), submit("key", "b")];
  const first = await next(0);
  all.push(submit("key", "c"));
  await first.end({ kind: "retry", delayMs: 150 });
  await clock.advance(100);
  all.push(submit("key", "d"));
  await clock.advance(49);
  assert.equal(executions.length, 0);
  assert.ok(all.every(({ outcome }) => outcome === undefined));
  const second = await next(1);
  assert.deepEqual(second.requests, ["d", "c", "b", "a"]);
  await second.succeed();
  assert.deepEqual(
    all.map(({ outcome }) => outcome),
    ["a", "b", "c", "d"].map(done),
  );
});

test("a conflict may repeat many times, each time with its own delay", async () => {
  const { clock, submit, takeExecution, next } = createHarness();
  const submitted = submit("key", "a");
  for (const delayMs of [100, 0, 200]) {
    await (await next(0)).end({ kind: "retry", delayMs });
    await clock.advance(delayMs);
  }
  await takeExecution().succeed();
  assert.deepEqual(submitted.outcome, done("a"));
  assert.equal(submitted.settledMs, 300);
});

test("a retried batch is newest first after a request in the middle has left", async () => {
  const { submit, next } = createHarness();
  const gone = new AbortController();
  submit("key", "a");
  submit("key", "b", { signal: gone.signal });
  submit("key", "c");
  const first = await next(0);
  submit("key", "d");
  gone.abort();
  await first.end({ kind: "retry", delayMs: 10 });
  assert.deepEqual((await next(10)).requests, ["d", "c", "a"]);
});

test("after a conflict of a full batch, new requests go before the oldest", async () => {
  const { submit, next } = createHarness({ batchSizeMax: 2 });
  submit("key", "a");
  submit("key", "b");
  const first = await next(0);
  submit("key", "c");
  await first.end({ kind: "retry", delayMs: 10 });
  const second = await next(10);
  assert.deepEqual(second.requests, ["c", "b"]);
  await second.succeed();
  assert.deepEqual((await next(0)).requests, ["a"]);
});

test("endless conflicts fail a request without a deadline, and not a newer one", async () => {
  const { clock, submit, executions, takeExecution } = createHarness();
  const old = submit("key", "old");
  await clock.advance(0);
  for (let attempt = 1; attempt < attemptsMax; attempt++) {
    await takeExecution().end({ kind: "retry", delayMs: 1 });
    assert.equal(old.outcome, undefined);
    await clock.advance(1);
  }
  const young = submit("key", "young");
  await takeExecution().end({ kind: "retry", delayMs: 1 });
  assert.equal(old.outcome?.kind, "failed");
  await clock.advance(1);
  assert.deepEqual(executions[0]?.requests, ["young"]);
  await takeExecution().succeed();
  assert.deepEqual(young.outcome, done("young"));
});

describe("a failure", () => {
  const boom = new Error("boom");

  test("an error settles the whole batch, and newer requests run", async () => {
    const { submit, next, succeedAfter } = createHarness();
    const batch = [submit("key", "a"), submit("key", "b")];
    const first = await next(0);
    const newcomer = submit("key", "c");
    await first.end({ kind: "error", error: boom });
    for (const { outcome } of batch) assert.deepEqual(outcome, { kind: "failed", error: boom });
    assert.equal(newcomer.outcome, undefined);
    await succeedAfter(0);
    assert.deepEqual(newcomer.outcome, done("c"));
  });

  test("an execution that rejects fails the batch", async () => {
    const { clock, submit, takeExecution } = createHarness();
    const submitted = submit("key", "a");
    await clock.advance(0);
    await takeExecution().reject(boom);
    assert.deepEqual(submitted.outcome, { kind: "failed", error: boom });
  });

  test("an execution that throws fails the batch", async () => {
    const { clock, submit } = createHarness({
      execute() {
        throw boom;
      },
    });
    const submitted = submit("key", "a");
    await clock.advance(0);
    assert.deepEqual(submitted.outcome, { kind: "failed", error: boom });
  });

  test("a wrong number of results or a wrong delay fails the batch, so that no request waits forever", async () => {
    const { submit, next } = createHarness();
    for (const wrong of [
      { kind: "success", results: [] },
      { kind: "retry", delayMs: NaN },
      { kind: "retry", delayMs: -1 },
    ] as const) {
      const submitted = submit("key", "a");
      await (await next(0)).end(wrong);
      assert.equal(submitted.outcome?.kind, "failed");
    }
  });
});

test("the pace delays every execution: the first, the next and the retry", async () => {
  let paceMs = 30;
  const asked: string[] = [];
  const { clock, submit, takeExecution, next } = createHarness({
    nextBatchDelayMs(key) {
      asked.push(key);
      return paceMs;
    },
  });
  submit("key", "a");
  const first = await next(30);
  assert.equal(first.startedMs, 30);
  submit("key", "b");
  paceMs = 200;
  await first.end({ kind: "retry", delayMs: 100 });
  const retry = await next(200);
  assert.equal(retry.startedMs, 230);
  submit("key", "c");
  paceMs = 50;
  await retry.succeed();
  await clock.advance(50);
  assert.equal(takeExecution().startedMs, 280);
  assert.deepEqual(asked, ["key", "key", "key"]);
});

test("the pace never shortens the cold-start delay or a retry delay", async () => {
  const { clock, submit, executions, next } = createHarness({
    coldStartDelayMs: 100,
    nextBatchDelayMs: () => 10,
  });
  submit("key", "a");
  await clock.advance(99);
  assert.equal(executions.length, 0);
  await (await next(1)).end({ kind: "retry", delayMs: 80 });
  await clock.advance(79);
  assert.equal(executions.length, 0);
  await clock.advance(1);
  assert.equal(executions.length, 1);
});

test("an execution starts sooner when the pace is asked again and allows it, but never later", async () => {
  let paceMs = 100;
  const { clock, pool, submit, executions, next } = createHarness({ nextBatchDelayMs: () => paceMs });
  submit("key", "a");
  await clock.advance(40);
  paceMs = 200;
  pool.hasten("key");
  paceMs = 20;
  pool.hasten("other");
  await clock.advance(20);
  assert.equal(executions.length, 0);
  pool.hasten("key");
  const first = await next(20);
  assert.equal(first.startedMs, 80);
  pool.hasten("key");
  submit("key", "b");
  await first.end({ kind: "retry", delayMs: 50 });
  paceMs = 0;
  pool.hasten("key");
  await clock.advance(49);
  assert.equal(executions.length, 0);
  assert.deepEqual((await next(1)).requests, ["b", "a"]);
});

test("a batch starts when no request has come for a while", async () => {
  const harness = createHarness({ gathering: () => ({ quietMs: 3, mostMs: 20 }) });
  harness.submit("a", "1");
  await harness.clock.advance(2);
  harness.submit("a", "2");
  await harness.clock.advance(2);
  assert.equal(harness.executions.length, 0);
  await harness.clock.advance(1);
  assert.deepEqual(harness.takeExecution().requests, ["2", "1"]);
});

test("a batch that more and more requests join starts after a bound", async () => {
  const harness = createHarness({ gathering: () => ({ quietMs: 3, mostMs: 20 }) });
  for (let index = 0; index < 10; index += 1) {
    harness.submit("a", `${index}`);
    await harness.clock.advance(2);
  }
  assert.equal(harness.takeExecution().startedMs, 20);
});

test("a batch that is full waits for nobody", async () => {
  const harness = createHarness({ gathering: () => ({ quietMs: 3, mostMs: 20 }), batchSizeMax: 2 });
  harness.submit("a", "1");
  harness.submit("a", "2");
  harness.submit("a", "3");
  await harness.clock.advance(3);
  assert.equal(harness.takeExecution().requests.length, 2);
});

test("a retry gathers nothing", async () => {
  const harness = createHarness({ gathering: () => ({ quietMs: 3, mostMs: 20 }) });
  harness.submit("a", "1");
  await harness.clock.advance(3);
  await harness.takeExecution().end({ kind: "retry", delayMs: 0 });
  await harness.clock.advance(0);
  assert.equal(harness.takeExecution().startedMs, 3);
});

test("a request that has less time left than an execution may take is cancelled instead of executed", async () => {
  const { clock, submit, takeExecution, executions, next } = createHarness({ expectedMs: () => 50 });
  submit("key", "a", { deadlineMonotonicMs: later(clock.monotonicMs(), 1_000) });
  const first = await next(0);
  const tooLate = submit("key", "b", { deadlineMonotonicMs: later(clock.monotonicMs(), 80) });
  const inTime = submit("key", "c", { deadlineMonotonicMs: later(clock.monotonicMs(), 81) });
  const patient = submit("key", "d");
  await clock.advance(30);
  await first.succeed();
  await clock.advance(0);
  assert.deepEqual(tooLate.outcome, { kind: "cancelled" });
  const second = takeExecution();
  assert.deepEqual(second.requests, ["d", "c"]);
  await second.succeed();
  assert.deepEqual([inTime.outcome, patient.outcome], [done("c"), done("d")]);
  // With nobody left in time nothing is executed.
  const alone = submit("key", "e", { deadlineMonotonicMs: later(clock.monotonicMs(), 50) });
  await clock.advance(0);
  assert.deepEqual(alone.outcome, { kind: "cancelled" });
  assert.deepEqual([executions.length, clock.pendingTimers], [0, 0]);
});
