/** A token bucket that lets callers wait in order (client-side QPS/burst limit). */
import { type Clock, later, longAgo, type MonotonicMs, sleep } from "../util/clock.ts";

export interface TokenBucket {
  /** Takes a token if that needs no waiting. */
  takeNow(): boolean;
  /**
   * Takes a token, waiting up to `waitMsMax` for it. Returns false, without waiting and without taking one, when that
   * would be too short, and false when `signal` aborts meanwhile.
   */
  take(waitMsMax: number, signal?: AbortSignal): Promise<boolean>;
  /**
   * Takes a token that will be there within `waitMsMax`, and returns in how many milliseconds (0 = it is there).
   * Returns undefined, without taking one, when that would be too short.
   */
  reserve(waitMsMax: number): number | undefined;
  /** Puts a token back that was taken and not used. */
  giveBack(): void;
}

/** `qps` tokens a second are added, up to `burst` (at least 1). A `qps` of 0 or less does not limit at all. */
export function createTokenBucket(config: { readonly qps: number; readonly burst: number }, clock: Clock): TokenBucket {
  if (config.qps <= 0) {
    return {
      takeNow: () => true,
      take: (_waitMsMax, signal) => Promise.resolve(signal?.aborted !== true),
      reserve: () => 0,
      giveBack() {},
    };
  }
  const intervalMs = 1000 / config.qps;
  const toleranceMs = (Math.max(1, config.burst) - 1) * intervalMs;
  /** When the bucket will be full again: one number instead of a token count and a time of filling. */
  let fullAtMs = longAgo;
  const reserve = (waitMsMax: number): number | undefined => {
    const nowMs = clock.monotonicMs();
    const startAtMs = Math.max(fullAtMs, nowMs) as MonotonicMs;
    const waitMs = startAtMs - toleranceMs - nowMs;
    if (waitMs > waitMsMax) return undefined;
    fullAtMs = later(startAtMs, intervalMs);
    return Math.max(0, waitMs);
  };
  const giveBack = (): void => {
    fullAtMs = later(fullAtMs, -intervalMs);
  };
  return {
    takeNow: () => reserve(0) !== undefined,
    async take(waitMsMax, signal) {
      if (signal?.aborted ?? false) return false;
      const waitMs = reserve(waitMsMax);
      if (waitMs === undefined) return false;
      if (waitMs <= 0) return true;
      await sleep(clock, waitMs, signal);
      if (!(signal?.aborted ?? false)) return true;
      giveBack();
      return false;
    },
    reserve,
    giveBack,
  };
}
