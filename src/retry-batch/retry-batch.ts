/**
 * The keys of a RetryBatch: which are active, which are still warm, the limits, and the drain. Each active key runs a
 * KeyBatch.
 */
import { assert } from "../util/assert.ts";
import { KeyBatch } from "./key-batch.ts";
import { isGone } from "./submission.ts";
import { type RetryBatch, type RetryBatchOptions, type SubmitOutcome } from "./types.ts";
import { type MonotonicMs } from "../util/clock.ts";

/**
 * How long a key is warm after its last batch. A controller that waits for each answer sends its next request well
 * within a second; with a shorter time each request would pay the cold-start delay.
 */
const warmMs = 1000;

/** Does nothing until the first submission; holds timers only while requests wait. */
export function createRetryBatch<Request, Result, Key = string>(
  options: RetryBatchOptions<Request, Result, Key>,
): RetryBatch<Request, Result, Key> {
  const { clock, observer, batchSizeMax, queuedPerKeyMax, keysMax } = options;
  assert(batchSizeMax >= 1 && queuedPerKeyMax >= 1 && keysMax >= 1, "the limits of a RetryBatch are at least 1");
  const active = new Map<Key, KeyBatch<Request, Result, Key>>();
  const warm = createWarmKeys<Key>(keysMax);
  const drained = Promise.withResolvers<void>();
  let sequence = 0;
  let isDraining = false;

  function activate(key: Key): KeyBatch<Request, Result, Key> {
    const firstDelayMs = warm.take(key, clock.monotonicMs()) ? 0 : options.coldStartDelayMs;
    const batch = new KeyBatch(key, options, firstDelayMs, (hasExecuted) => {
      active.delete(key);
      if (hasExecuted) warm.add(key, clock.monotonicMs());
      observer?.onInflightKeys(active.size);
      if (isDraining && active.size === 0) drained.resolve();
    });
    active.set(key, batch);
    observer?.onInflightKeys(active.size);
    return batch;
  }

  /** Settles a request that was never accepted. */
  function refuse(key: Key, outcome: SubmitOutcome<Result>): Promise<SubmitOutcome<Result>> {
    observer?.onSubmit({ key, durationMs: 0, attempts: 0, outcome });
    return Promise.resolve(outcome);
  }

  return {
    submit(key, request, submitOptions = {}) {
      if (isGone(submitOptions, clock.monotonicMs())) {
        return refuse(key, { kind: "cancelled" });
      }
      const current = active.get(key);
      const isFull = current === undefined ? active.size >= keysMax : current.unsettledCount >= queuedPerKeyMax;
      if (isDraining || isFull) return refuse(key, { kind: "overloaded" });
      return (current ?? activate(key)).submit(request, sequence++, submitOptions);
    },
    hasten(key) {
      active.get(key)?.hasten();
    },
    drain() {
      isDraining = true;
      if (active.size === 0) drained.resolve();
      return drained.promise;
    },
  };
}

/** Remembers which keys ended within the last `warmMs`. Forgets when it is used, without a timer. */
function createWarmKeys<Key>(keysMax: number) {
  /** When each key ended; the oldest first. */
  const endedMs = new Map<Key, MonotonicMs>();

  function forgetOld(nowMs: MonotonicMs): void {
    for (const [key, ms] of endedMs) {
      if (nowMs - ms < warmMs && endedMs.size <= keysMax) return;
      endedMs.delete(key);
    }
  }

  return {
    add(key: Key, nowMs: MonotonicMs): void {
      endedMs.set(key, nowMs);
      forgetOld(nowMs);
    },
    /** Whether `key` is warm; forgets it. */
    take(key: Key, nowMs: MonotonicMs): boolean {
      forgetOld(nowMs);
      return endedMs.delete(key);
    },
  };
}
