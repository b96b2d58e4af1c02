/** A clock for loops that wait between passes: the test sets the time, and lets each loop go on when it waits. */
import { type Clock, type EpochMicros, type MonotonicMs, type Timer } from "../../../src/util/clock.ts";

export class PassClock implements Clock {
  readonly #nowMs: () => number;
  #waiting: (() => void) | undefined;
  #idle = Promise.withResolvers<void>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  monotonicMs(): MonotonicMs {
    return this.#nowMs() as MonotonicMs;
  }

  epochMicros(): EpochMicros {
    return (this.#nowMs() * 1_000) as EpochMicros;
  }

  setTimer(_delayMs: number, callback: () => void): Timer {
    this.#waiting = callback;
    this.#idle.resolve();
    return { cancel: () => void (this.#waiting = undefined) };
  }

  /** Resolves when the loop waits. */
  idle(): Promise<void> {
    return this.#idle.promise;
  }

  /** Lets the loop make its next pass, and waits for its end. */
  async pass(): Promise<void> {
    await this.idle();
    const wake = this.#waiting;
    this.#idle = Promise.withResolvers();
    wake?.();
    await this.idle();
  }
}
