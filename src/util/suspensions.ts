/**
 * Notices that a machine was suspended. On Linux the monotonic clock stands still meanwhile, so whatever is measured by
 * it is older than it looks. The wall clock goes on, or is set when the machine wakes: it is then ahead of the
 * monotonic one by more than before. Somebody who sets it forward looks the same, and a step back tells nothing.
 */
import { type Clock, later, longAgo, type MonotonicMs } from "./clock.ts";

export interface SuspensionsOptions {
  /** Less is no matter. Several short suspensions add up. */
  readonly leastMs: number;
  /** Least time between two that are told, so that a clock that is set to and fro does not stop everything for ever. */
  readonly spacingMs: number;
}

/** The wall clock minus the monotonic clock. */
export function wallClockOffsetMs(clock: Clock): number {
  return clock.epochMicros() / 1000 - clock.monotonicMs();
}

export class Suspensions {
  readonly #clock: Clock;
  readonly #options: SuspensionsOptions;
  #offsetMs: number;
  #toldAtMs: MonotonicMs = longAgo;

  constructor(clock: Clock, options: SuspensionsOptions) {
    this.#clock = clock;
    this.#options = options;
    this.#offsetMs = wallClockOffsetMs(clock);
  }

  /** For how long the clock has stood still since this was told last, if that is long enough; else undefined. */
  lastedMs(): number | undefined {
    const { leastMs, spacingMs } = this.#options;
    const offsetMs = wallClockOffsetMs(this.#clock);
    const stoodMs = offsetMs - this.#offsetMs;
    if (stoodMs < 0) this.#offsetMs = offsetMs;
    const nowMs = this.#clock.monotonicMs();
    if (stoodMs < leastMs || nowMs < later(this.#toldAtMs, spacingMs)) return undefined;
    this.#offsetMs = offsetMs;
    this.#toldAtMs = nowMs;
    return stoodMs;
  }
}
