import assert from "node:assert/strict";
import { test } from "node:test";
import { type ExecuteOutcome, type SubmitOutcome } from "../../../src/retry-batch/index.ts";
import { createRetryBatch } from "../../../src/retry-batch/retry-batch.ts";
import { sleep } from "../../../src/util/clock.ts";
import { type Rng, uniform } from "../../../src/util/rng.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";
import { at } from "../../support/moment.ts";

const batchSizeMax = 5;
const queuedPerKeyMax = 12;
const keysMax = 3;

interface Tracked {
  readonly id: number;
  readonly deadlineMs: number;
  readonly abort: AbortController;
  executions: number;
  running: boolean;
  /** Its last execution succeeded or failed. */
  ended: boolean;
  /** Once it is settled: how, when, and after how many executions. */
  outcomes: { outcome: SubmitOutcome<number>; atMs: number; executions: number }[];
}

/**
 * One random history; every invariant is checked when it could first be broken. Returns what happened, to see that all
 * kinds occur.
 */
async function runHistory(seed: number): Promise<Map<string, number>> {
  const rng = createSeededRng(seed);
  const clock = createVirtualClock();
  const runningKeys = new Set<string>();
  const all: Tracked[] = [];
  const seen = new Map<string, number>();

  const pool = createRetryBatch<Tracked, number>({
    clock,
    coldStartDelayMs: rng.next() < 0.5 ? 0 : 40,
    batchSizeMax,
    queuedPerKeyMax,
    keysMax,
    nextBatchDelayMs: () => (rng.next() < 0.3 ? rng.next() * 20 : 0),
    async execute(key, requests) {
      assert.ok(!runningKeys.has(key), `seed ${seed}: two executions of one key`);
      assert.ok(requests.length >= 1 && requests.length <= batchSizeMax, `seed ${seed}: size`);
      for (const [index, request] of requests.entries()) {
        assert.ok(index === 0 || requests[index - 1]!.id > request.id, `seed ${seed}: not newest first`);
        assert.ok(!request.abort.signal.aborted, `seed ${seed}: an aborted request is executed`);
        assert.ok(request.deadlineMs > clock.monotonicMs(), `seed ${seed}: a request past its deadline is executed`);
        assert.ok(!request.ended && !request.running, `seed ${seed}: executed again after its end`);
        assert.equal(request.outcomes.length, 0, `seed ${seed}: executed after it settled`);
        request.running = true;
        request.executions++;
      }
      runningKeys.add(key);
      await sleep(clock, rng.next() * 60);
      runningKeys.delete(key);
      const outcome = randomOutcome(rng, requests);
      for (const request of requests) {
        request.running = false;
        request.ended = outcome.kind !== "retry";
      }
      return outcome;
    },
  });

  function submit(): void {
    const deadlineMs = rng.next() < 0.5 ? Infinity : clock.monotonicMs() + uniform(rng, 0, 200);
    const tracked: Tracked = {
      id: all.length,
      deadlineMs,
      abort: new AbortController(),
      executions: 0,
      running: false,
      ended: false,
      outcomes: [],
    };
    all.push(tracked);
    const options = {
      signal: tracked.abort.signal,
      ...(deadlineMs < Infinity && { deadlineMonotonicMs: at(deadlineMs) }),
    };
    void pool.submit(`key-${Math.floor(rng.next() * 4)}`, tracked, options).then((outcome) => {
      tracked.outcomes.push({ outcome, atMs: clock.monotonicMs(), executions: tracked.executions });
      seen.set(outcome.kind, (seen.get(outcome.kind) ?? 0) + 1);
    });
  }

  for (let step = 0; step < 150; step++) {
    const dice = rng.next();
    if (dice < 0.6) submit();
    else if (dice < 0.75) all[Math.floor(rng.next() * all.length)]?.abort.abort();
    else await clock.advance(rng.next() * 50);
  }
  let drained = false;
  void pool.drain().then(() => (drained = true));
  // Conflicts have one chance in four, so 60 s are plenty for the last retry.
  await clock.advance(60_000);
  assert.ok(drained, `seed ${seed}: the drain never ended`);
  assert.equal(clock.pendingTimers, 0, `seed ${seed}: timers are left`);
  for (const tracked of all) checkSettled(tracked, seed);
  return seen;
}

function randomOutcome(rng: Rng, requests: readonly Tracked[]): ExecuteOutcome<number> {
  const dice = rng.next();
  if (dice < 0.6) return { kind: "success", results: requests.map(({ id }) => id) };
  if (dice < 0.85) return { kind: "retry", delayMs: rng.next() * 80 };
  if (dice < 0.95) return { kind: "error", error: "refused" };
  throw new Error("thrown");
}

function checkSettled({ id, outcomes, executions, deadlineMs, abort }: Tracked, seed: number): void {
  assert.equal(outcomes.length, 1, `seed ${seed}: request ${id} settled ${outcomes.length} times`);
  const { outcome, atMs, executions: executionsThen } = outcomes[0]!;
  assert.ok(atMs <= deadlineMs, `seed ${seed}: request ${id} settled after its deadline`);
  switch (outcome.kind) {
    case "done":
      assert.equal(outcome.result, id, `seed ${seed}: request ${id} got the result of another`);
      assert.ok(executions >= 1);
      break;
    case "failed":
      assert.ok(executions >= 1);
      break;
    case "cancelled":
      assert.ok(abort.signal.aborted || atMs >= deadlineMs, `seed ${seed}: request ${id} cancelled without a reason`);
      assert.equal(executions, executionsThen, `seed ${seed}: request ${id} executed after it was cancelled`);
      break;
    case "overloaded":
      assert.equal(executions, 0);
      break;
    default:
      assert.fail("unknown outcome");
  }
}

test("a RetryBatch keeps every promise through 200 random histories", async () => {
  const seen = new Map<string, number>();
  for (let seed = 1; seed <= 200; seed++) {
    for (const [kind, count] of await runHistory(seed)) seen.set(kind, (seen.get(kind) ?? 0) + count);
  }
  for (const kind of ["done", "failed", "cancelled", "overloaded"]) {
    assert.ok((seen.get(kind) ?? 0) > 200, `${kind} must occur often: ${seen.get(kind)}`);
  }
});
