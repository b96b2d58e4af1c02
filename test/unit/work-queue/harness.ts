/** A work queue on a virtual clock whose work the test ends by hand. */
import assert from "node:assert/strict";
import { createWorkQueue, type Outcome, type WorkQueueOptions } from "../../../src/work-queue/work-queue.ts";
import { createVirtualClock, drainMicrotasks } from "../../support/virtual-clock.ts";

export const success: Outcome = { kind: "done" };
export const conflict: Outcome = { kind: "conflict" };
export const failure: Outcome = { kind: "failed", error: "boom" };

export interface Work {
  readonly key: string;
  readonly atMs: number;
  readonly signal: AbortSignal;
  end(outcome: Outcome): Promise<void>;
}

/** A queue whose work the test ends by hand; `outcomes`, when given, end it at once in turn. */
export function createHarness(changes: Partial<WorkQueueOptions<string>> = {}, outcomes?: Outcome[]) {
  const clock = createVirtualClock();
  const stop = new AbortController();
  /** Started and not yet ended by the test. */
  const works: Work[] = [];
  const starts: [atMs: number, key: string][] = [];
  const reconciles: { durationMs: number; kind: string; key: string }[] = [];
  const queue = createWorkQueue<string>({
    clock,
    rng: { next: () => 0.5 },
    concurrency: 1,
    backoffBaseMs: 100,
    backoffMaxMs: 1000,
    backoffConflictMs: 10,
    process(key, signal) {
      starts.push([clock.monotonicMs(), key]);
      const outcome = outcomes?.shift();
      if (outcome !== undefined) return Promise.resolve(outcome);
      const { promise, resolve } = Promise.withResolvers<Outcome>();
      works.push({
        key,
        atMs: clock.monotonicMs(),
        signal,
        async end(ended) {
          resolve(ended);
          await drainMicrotasks();
        },
      });
      return promise;
    },
    observer: { onReconcile: (durationMs, { kind }, key) => reconciles.push({ durationMs, kind, key }) },
    ...changes,
  });
  let stopped = false;
  return {
    clock,
    queue,
    stop,
    works,
    starts,
    startTimes: () => starts.map(([atMs]) => atMs),
    startKeys: () => starts.map(([, key]) => key),
    reconciles,
    run: (): void => {
      void queue.run(stop.signal).then(() => (stopped = true));
    },
    hasStopped: () => stopped,
    takeWork: (): Work => {
      assert.equal(works.length, 1, "exactly one key must be in work");
      return works.shift()!;
    },
  };
}

export const repeat = (outcome: Outcome, count: number): Outcome[] => Array.from({ length: count }, () => outcome);
