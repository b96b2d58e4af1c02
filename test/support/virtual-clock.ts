/**
 * A Clock that stands still until a test moves it. Timers fire in the order of their due times, equal ones in the order
 * they were set.
 */
import { assert } from "../../src/util/assert.ts";
import { type MonotonicMs, type Clock, type EpochMicros, type Timer } from "../../src/util/clock.ts";

export interface VirtualClock extends Clock {
  /**
   * Moves both clocks forward by `ms`, firing each timer that falls due at its own time. Before and after each timer
   * all promise continuations run to their end, so that what a timer wakes has finished, or waits again, before the
   * next one fires.
   */
  advance(ms: number): Promise<void>;
  /**
   * Sets the wall clock forward (or back, when negative) without moving the monotonic one, as an administrator or NTP
   * does.
   */
  jumpWallClock(ms: number): void;
  /** Timers that have neither fired nor been cancelled: a leak test expects 0. */
  readonly pendingTimers: number;
  /** Milliseconds until the next timer fires; undefined without timers. */
  readonly nextTimerInMs: number | undefined;
}

interface PendingTimer {
  readonly dueMs: number;
  readonly callback: () => void;
}

/** A turn of the event loop: runs every promise continuation that is ready, and those that they make ready. */
export function drainMicrotasks(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A loop of timers that never waits would hang the test; no test sets this many in one advance. */
const timersPerAdvanceMax = 1_000_000;

/** `epochMs` is the wall clock at the start; default 2026-01-01T00:00:00Z. The monotonic clock starts at 0. */
export function createVirtualClock({ epochMs = Date.UTC(2026, 0, 1) } = {}): VirtualClock {
  let nowMs = 0;
  let wallOffsetMs = epochMs;
  /** Sorted by due time; equal times keep the order of insertion. */
  const timers: PendingTimer[] = [];

  function insert(timer: PendingTimer): void {
    let low = 0;
    let high = timers.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (timers[middle]!.dueMs <= timer.dueMs) low = middle + 1;
      else high = middle;
    }
    timers.splice(low, 0, timer);
  }

  return {
    monotonicMs: () => nowMs as MonotonicMs,
    epochMicros: () => Math.round((wallOffsetMs + nowMs) * 1000) as EpochMicros,
    setTimer(delayMs, callback): Timer {
      const timer: PendingTimer = { dueMs: nowMs + Math.max(0, delayMs), callback };
      insert(timer);
      return {
        cancel() {
          const index = timers.indexOf(timer);
          if (index >= 0) timers.splice(index, 1);
        },
      };
    },
    async advance(ms) {
      const targetMs = nowMs + ms;
      await drainMicrotasks();
      for (let fired = 0; timers[0] !== undefined && timers[0].dueMs <= targetMs; fired++) {
        assert(fired < timersPerAdvanceMax, "timers set each other without end");
        const timer = timers.shift()!;
        nowMs = Math.max(nowMs, timer.dueMs);
        timer.callback();
        await drainMicrotasks();
      }
      nowMs = targetMs;
    },
    jumpWallClock(ms) {
      wallOffsetMs += ms;
    },
    get pendingTimers() {
      return timers.length;
    },
    get nextTimerInMs() {
      return timers[0] === undefined ? undefined : Math.max(0, timers[0].dueMs - nowMs);
    },
  };
}
