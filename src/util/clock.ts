/**
 * Time as an injected dependency. Two clocks, never mixed: monotonic milliseconds for durations, waits and leases;
 * epoch microseconds for what is written into objects. The simulation supplies its own Clock, production the system's.
 */

declare const epochMicros: unique symbol;
/** Microseconds since 1970-01-01T00:00:00Z, an integer below 2^53 (safe until the year 2255). */
export type EpochMicros = number & { readonly [epochMicros]: true };

declare const monotonicMs: unique symbol;
/**
 * A moment of one process's monotonic clock, in milliseconds. The difference of two is a duration, a plain number of
 * milliseconds; `later` adds one to a moment.
 */
export type MonotonicMs = number & { readonly [monotonicMs]: true };

/** Before every moment: nothing has happened yet. */
export const longAgo = Number.NEGATIVE_INFINITY as MonotonicMs;

/** The moment `durationMs` after `moment` (before it when negative). */
export function later(moment: MonotonicMs, durationMs: number): MonotonicMs {
  return (moment + durationMs) as MonotonicMs;
}

/** The smaller of two moments, or of two durations; undefined counts as never. */
export function earlierOf<T extends number>(a: T | undefined, b: T): T;
export function earlierOf<T extends number>(a: T | undefined, b: T | undefined): T | undefined;
export function earlierOf<T extends number>(a: T | undefined, b: T | undefined): T | undefined {
  if (a === undefined) return b;
  return b === undefined || a <= b ? a : b;
}

/** The larger of two moments, or of two durations; undefined counts as before everything. */
export function laterOf<T extends number>(a: T, b: T | undefined): T;
export function laterOf<T extends number>(a: T | undefined, b: T | undefined): T | undefined;
export function laterOf<T extends number>(a: T | undefined, b: T | undefined): T | undefined {
  if (a === undefined) return b;
  return b === undefined || b <= a ? a : b;
}

/** A pending timer. */
export interface Timer {
  /** Stops the timer; does nothing when it has fired or was cancelled. */
  cancel(): void;
}

export interface Clock {
  /**
   * Milliseconds since an arbitrary origin; never goes back, not even when the wall clock is set. May have fractions.
   */
  monotonicMs(): MonotonicMs;
  /** Wall clock. May jump in either direction. */
  epochMicros(): EpochMicros;
  /**
   * Calls `callback` once after `delayMs` (0 = as soon as possible, but never synchronously). Delays above 2^31 - 1 ms
   * are shortened to that.
   */
  setTimer(delayMs: number, callback: () => void): Timer;
  /**
   * How much of the time that rules give to people they really have; absent = all of it. Worlds of the simulation last
   * minutes, and give less.
   */
  readonly givenShare?: number;
}

/** Time that is given to people, in milliseconds. */
export function givenMs({ givenShare = 1 }: Pick<Clock, "givenShare">, ms: number): number {
  return givenShare * ms;
}

/**
 * Waits `delayMs`. Resolves early (never rejects) when `signal` aborts; look at `signal.aborted` afterwards.
 */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      timer.cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = clock.setTimer(delayMs, done);
    signal?.addEventListener("abort", done, { once: true });
  });
}
