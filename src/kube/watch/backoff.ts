/** Exponential backoff with full jitter. */
import { type Clock } from "../../util/clock.ts";
import { type Rng, uniform } from "../../util/rng.ts";

/**
 * What an attempt costs the server. `light`: it never reached it, or was turned away at the door, or used up a deadline
 * of half a minute itself. `heavy`: the server did some of the work, and is perhaps sick of it.
 */
export type Burden = "light" | "heavy";

export interface Backoff {
  /** Milliseconds to wait after an attempt that failed; each call doubles the range, up to the limit of the burden. */
  nextDelayMs(burden: Burden): number;
}

/** client-go's reflector waits from 0.8 s: a restarting API server is not met by all watches at once. */
const firstDelayMs = 800;
const delayMsMax: Readonly<Record<Burden, number>> = {
  /**
   * A watch that is not back leaves a webhook with old counts, and it refuses what it should admit: 1 connection in 2.5
   * s on average is a fair price.
   */
  light: 5_000,
  /** 1 request in 15 s on average and per informer is nothing to a sick server, and 30 s of blindness is bearable. */
  heavy: 30_000,
};
/**
 * Without a failure for that long the server is well again. Longer than the longest delay, or the range would shrink
 * while it is sick.
 */
const healthyAfterMs = 120_000;

/**
 * The range is 0.8 s at first, then doubles to the limit; it starts anew after 2 minutes without a failure. A light
 * attempt also brings it down to its own limit: an outage of any length is no reason to wait long for the server that
 * comes back.
 */
export function createBackoff(clock: Clock, rng: Rng): Backoff {
  let rangeMs = firstDelayMs;
  let lastFailureMs = Number.NEGATIVE_INFINITY;
  return {
    nextDelayMs(burden) {
      const nowMs = clock.monotonicMs();
      if (nowMs - lastFailureMs >= healthyAfterMs) rangeMs = firstDelayMs;
      const delayMs = uniform(rng, 0, Math.min(rangeMs, delayMsMax[burden]));
      rangeMs = Math.min(rangeMs * 2, delayMsMax[burden]);
      lastFailureMs = nowMs;
      return delayMs;
    },
  };
}
