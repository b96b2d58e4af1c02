/** Exponential backoff with full jitter. */
import { type Clock, longAgo } from "../../util/clock.ts";
import { type Rng, uniform } from "../../util/rng.ts";

/**
 * What an attempt costs the server.
 * - `light`: it never reached the server, was rejected at once, or used up a deadline of half a minute itself.
 * - `heavy`: the server did some of the work, and may be overloaded by it.
 */
export type Burden = "light" | "heavy";

export interface Backoff {
  /** Milliseconds to wait after an attempt that failed; each call doubles the range, up to the limit of the burden. */
  nextDelayMs(burden: Burden): number;
}

/** As client-go's reflector: not all watches meet a restarting API server at once. */
const firstDelayMs = 800;
const delayMsMax: Readonly<Record<Burden, number>> = {
  /**
   * While a watch is down, a webhook has old counts and refuses what it should admit: 1 connection in 2.5 s on average
   * is worth it.
   */
  light: 5_000,
  /** 1 request in 15 s on average for each informer is no burden, and 30 s without news are tolerable. */
  heavy: 30_000,
};
/**
 * Without a failure for that long the server is healthy again. Longer than the longest delay, or the range would shrink
 * while the trouble lasts.
 */
const healthyAfterMs = 120_000;

/**
 * The range is 0.8 s at first, then doubles up to the limit. It starts over after 2 minutes without a failure. A light
 * attempt also brings it down to its own limit: even after a long outage a server that comes back is found soon.
 */
export function createBackoff(clock: Clock, rng: Rng): Backoff {
  let rangeMs = firstDelayMs;
  let failedAtMs = longAgo;
  return {
    nextDelayMs(burden) {
      const nowMs = clock.monotonicMs();
      if (nowMs - failedAtMs >= healthyAfterMs) rangeMs = firstDelayMs;
      const delayMs = uniform(rng, 0, Math.min(rangeMs, delayMsMax[burden]));
      rangeMs = Math.min(rangeMs * 2, delayMsMax[burden]);
      failedAtMs = nowMs;
      return delayMs;
    },
  };
}
