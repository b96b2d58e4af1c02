/**
 * Notices that the wall clock was set. Which pods are available is a comparison with the wall clock of their nodes, but
 * waits run on the monotonic clock: after a step the counts may be wrong, and the wake-ups that were reckoned before
 * may be hours off.
 */
import { type Clock } from "../util/clock.ts";

/**
 * Slewing by NTP (at most half a millisecond a second) reaches this once in half an hour; minReadySeconds has no finer
 * unit.
 */
const stepMsMin = 1000;

export class WallClockSteps {
  readonly #clock: Clock;
  #offsetMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#offsetMs = this.#readOffsetMs();
  }

  /**
   * By how many milliseconds the wall clock was set since the last answer (negative = back); 0 for less than a second.
   */
  take(): number {
    const stepMs = this.#readOffsetMs() - this.#offsetMs;
    if (Math.abs(stepMs) < stepMsMin) return 0;
    this.#offsetMs += stepMs;
    return stepMs;
  }

  #readOffsetMs(): number {
    return this.#clock.epochMicros() / 1000 - this.#clock.monotonicMs();
  }
}
