import assert from "node:assert/strict";
import { test } from "node:test";
import { cancelled, createHarness, done } from "./harness.ts";
import { at } from "../../support/moment.ts";

test("a request that is cancelled before the first execution settles at once and is not executed", async () => {
  const { clock, submit, next } = createHarness({ coldStartDelayMs: 100 });
  const gone = new AbortController();
  const leaver = submit("key", "a", { signal: gone.signal });
  submit("key", "b");
  await clock.advance(50);
  gone.abort();
  await clock.advance(0);
  assert.deepEqual(leaver.outcome, cancelled);
  assert.deepEqual((await next(50)).requests, ["b"]);
});

test("cancelling the only request before the first execution stops it, and the key is cold again", async () => {
  const { clock, submit, executions, next } = createHarness({ coldStartDelayMs: 100 });
  const gone = new AbortController();
  submit("key", "a", { signal: gone.signal });
  await clock.advance(99);
  gone.abort();
  assert.equal(clock.pendingTimers, 0);
  submit("key", "b");
  await clock.advance(99);
  assert.equal(executions.length, 0);
  assert.deepEqual((await next(1)).requests, ["b"]);
});

test("a request that is cancelled during its execution settles at once, and the others get their results", async () => {
  const { clock, submit, next } = createHarness();
  const gone = new AbortController();
  const leaver = submit("key", "a", { signal: gone.signal });
  const stayer = submit("key", "b");
  const execution = await next(0);
  gone.abort();
  await clock.advance(0);
  assert.deepEqual(leaver.outcome, cancelled);
  assert.equal(stayer.outcome, undefined);
  await execution.succeed();
  assert.deepEqual(stayer.outcome, done("b"));
  assert.equal(leaver.settledCount, 1);
});

test("a request that is cancelled during its execution is not in the retry", async () => {
  const { submit, next } = createHarness();
  const gone = new AbortController();
  submit("key", "a", { signal: gone.signal });
  submit("key", "b");
  const first = await next(0);
  gone.abort();
  await first.end({ kind: "retry", delayMs: 10 });
  assert.deepEqual((await next(10)).requests, ["b"]);
});

test("a request that is cancelled during a retry delay settles at once, and the last one ends the batch", async () => {
  const { clock, submit, executions, next } = createHarness();
  const gone = new AbortController();
  const leaver = submit("key", "a", { signal: gone.signal });
  await (await next(0)).end({ kind: "retry", delayMs: 100 });
  await clock.advance(50);
  gone.abort();
  assert.equal(clock.pendingTimers, 0);
  await clock.advance(100);
  assert.deepEqual(leaver.outcome, cancelled);
  assert.equal(executions.length, 0);
});

test("a request that is cancelled while it waits behind an execution is not in the next one", async () => {
  const { clock, submit, next } = createHarness();
  const gone = new AbortController();
  submit("key", "a");
  const first = await next(0);
  const leaver = submit("key", "b", { signal: gone.signal });
  submit("key", "c");
  gone.abort();
  await clock.advance(0);
  assert.deepEqual(leaver.outcome, cancelled);
  await first.succeed();
  assert.deepEqual((await next(0)).requests, ["c"]);
});

test("cancelling a request that has its result changes nothing", async () => {
  const { clock, submit, succeedAfter } = createHarness();
  const gone = new AbortController();
  const submitted = submit("key", "a", { signal: gone.signal, deadlineMonotonicMs: at(1000) });
  await succeedAfter(0);
  assert.equal(clock.pendingTimers, 0);
  gone.abort();
  await clock.advance(2000);
  assert.deepEqual(submitted.outcome, done("a"));
  assert.equal(submitted.settledCount, 1);
});

test("a deadline settles a waiting request at its moment", async () => {
  const { clock, submit, takeExecution } = createHarness({ coldStartDelayMs: 100 });
  const late = submit("key", "a", { deadlineMonotonicMs: at(40) });
  submit("key", "b", { deadlineMonotonicMs: at(5000) });
  await clock.advance(100);
  assert.deepEqual(late.outcome, cancelled);
  assert.equal(late.settledMs, 40);
  assert.deepEqual(takeExecution().requests, ["b"]);
});

test("a deadline at the very moment of the execution comes first", async () => {
  const { clock, submit, executions } = createHarness({ coldStartDelayMs: 100 });
  const late = submit("key", "a", { deadlineMonotonicMs: at(100) });
  await clock.advance(100);
  assert.deepEqual(late.outcome, cancelled);
  assert.equal(executions.length, 0);
  assert.equal(clock.pendingTimers, 0);
});

test("a deadline that passes during an execution settles the request then, even if the execution hangs", async () => {
  const { clock, submit, takeExecution } = createHarness();
  const late = submit("key", "a", { deadlineMonotonicMs: at(1000) });
  await clock.advance(5000);
  assert.deepEqual(late.outcome, cancelled);
  assert.equal(late.settledMs, 1000);
  await takeExecution().succeed();
  assert.equal(late.settledCount, 1);
});

test("a deadline that passes during a retry delay takes the request out of the retry", async () => {
  const { clock, submit, takeExecution, next } = createHarness();
  const late = submit("key", "a", { deadlineMonotonicMs: at(50) });
  submit("key", "b");
  await (await next(0)).end({ kind: "retry", delayMs: 100 });
  await clock.advance(100);
  assert.deepEqual(late.outcome, cancelled);
  assert.deepEqual(takeExecution().requests, ["b"]);
});
