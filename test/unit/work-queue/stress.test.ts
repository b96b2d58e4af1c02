import assert from "node:assert/strict";
import { test } from "node:test";
import { sleep } from "../../../src/util/clock.ts";
import { createWorkQueue, type Outcome } from "../../../src/work-queue/index.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";

const keys = ["a", "b", "c", "d", "e"];
const concurrency = 2;
const longestWorkMs = 30;

async function runHistory(seed: number): Promise<number> {
  const rng = createSeededRng(seed);
  const clock = createVirtualClock();
  const inWork = new Set<string>();
  /** For each key the moment of the last add that no processing has followed yet. */
  const wantedMs = new Map<string, number>();
  let stop = new AbortController();
  let started = 0;
  let calm = false;

  const queue = createWorkQueue<string>({
    clock,
    rng,
    concurrency,
    backoffBaseMs: 5,
    backoffMaxMs: 100,
    backoffConflictMs: 10,
    async process(key, signal) {
      assert.ok(!inWork.has(key), `seed ${seed}: ${key} is processed twice at once`);
      assert.ok(!signal.aborted, `seed ${seed}: work is started after the stop`);
      inWork.add(key);
      assert.ok(inWork.size <= concurrency, `seed ${seed}: too much at once`);
      wantedMs.delete(key);
      started++;
      await sleep(clock, rng.next() * longestWorkMs);
      inWork.delete(key);
      return calm ? { kind: "done" } : randomOutcome();
    },
    observer: { onReconcile() {} },
  });

  function randomOutcome(): Outcome {
    const dice = rng.next();
    if (dice < 0.4) return { kind: "done" };
    if (dice < 0.5) return { kind: "done", requeueAfterMs: rng.next() * 50 };
    if (dice < 0.7) return { kind: "conflict" };
    if (dice < 0.9) return { kind: "failed", error: "refused" };
    throw new Error("thrown");
  }

  let running = queue.run(stop.signal);
  for (let step = 0; step < 200; step++) {
    const dice = rng.next();
    const key = keys[Math.floor(rng.next() * keys.length)]!;
    if (dice < 0.4) {
      queue.add(key);
      wantedMs.set(key, clock.monotonicMs());
    } else if (dice < 0.6) {
      const delayMs = rng.next() * 60;
      queue.addAfter(key, delayMs);
      wantedMs.set(key, Math.max(wantedMs.get(key) ?? 0, clock.monotonicMs() + delayMs));
    } else if (dice < 0.63) {
      stop.abort();
      await clock.advance(longestWorkMs);
      await running;
      assert.equal(inWork.size, 0, `seed ${seed}: stopped with work in flight`);
      assert.equal(clock.pendingTimers, 0, `seed ${seed}: a timer is left after the stop`);
      stop = new AbortController();
      running = queue.run(stop.signal);
    } else {
      await clock.advance(rng.next() * 40);
    }
  }
  calm = true;
  await clock.advance(10_000);
  assert.deepEqual([...wantedMs.keys()], [], `seed ${seed}: an added key was never processed`);
  assert.equal(queue.size, 0, `seed ${seed}: a key that succeeded stays in memory`);
  assert.equal(clock.pendingTimers, 0, `seed ${seed}: a timer is left when all is done`);
  stop.abort();
  await running;
  return started;
}

test("a work queue loses no key and processes none twice at once through 300 random histories", async () => {
  let started = 0;
  for (let seed = 1; seed <= 300; seed++) started += await runHistory(seed);
  assert.ok(started > 10_000, `the load must be real: ${started}`);
});
