/** The machine's own clock. Created once in a composition root; everything else receives a Clock. */
import { type Clock, type EpochMicros, type MonotonicMs } from "./clock.ts";

/** setTimeout fires at once for delays above this (Node documentation, timers). */
const timerDelayMsMax = 2 ** 31 - 1;

export function createSystemClock(): Clock {
  return {
    monotonicMs: () => performance.now() as MonotonicMs,
    // Date.now follows the wall clock when it is set; performance.timeOrigin would not.
    epochMicros: () => (Date.now() * 1000) as EpochMicros,
    setTimer(delayMs, callback) {
      const handle = setTimeout(callback, Math.min(Math.max(0, delayMs), timerDelayMsMax));
      return { cancel: () => clearTimeout(handle) };
    },
  };
}
