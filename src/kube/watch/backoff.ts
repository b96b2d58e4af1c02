/** Exponential backoff with full jitter. */
import { type Clock } from "../../util/clock.ts";
import { type Rng, uniform } from "../../util/rng.ts";

export interface Backoff {
  /** Milliseconds to wait before the next attempt; each call doubles the range, up to the limit. */
  nextDelayMs(): number;
}

/** client-go's reflector waits from 0.8 s: a restarting API server is not met by all watches at once. */
const firstDelayMs = 800;
/** 1 request in 15 s on average and per informer is nothing to a sick server, and 30 s of blindness is bearable. */
const delayMsMax = 30_000;
/** Without a failure for that long the server is well again. Longer than the longest delay, or the range would shrink while it is sick. */
const healthyAfterMs = 120_000;

/** The range is 0.8 s at first, then doubles to 30 s; it starts anew after 2 minutes without a failure. */
export function createBackoff(clock: Clock, rng: Rng): Backoff {
  let rangeMs = firstDelayMs;
  let lastFailureMs = Number.NEGATIVE_INFINITY;
  return {
    nextDelayMs() {
      const nowMs = clock.monotonicMs();
      if (nowMs - lastFailureMs >= healthyAfterMs) rangeMs = firstDelayMs;
      const delayMs = uniform(rng, 0, rangeMs);
      rangeMs = Math.min(rangeMs * 2, delayMsMax);
      lastFailureMs = nowMs;
      return delayMs;
    },
  };
}
