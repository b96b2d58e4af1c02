/**
 * A machine, or a process on it: a clock of its own, which may be off, drift and jump; it may die. A dead
 * node's timers never fire, so that its code stops at the very point where it waits; a paused one's fire late.
 */
import { type MonotonicMs, type Clock, type EpochMicros, type Timer } from "../../../src/util/clock.ts";
import { type Kernel } from "./kernel.ts";

/** The true wall clock at the beginning. */
export const epochMs = Date.UTC(2026, 0, 1);
/** Node shortens longer delays to that, too. */
const timerMsMax = 2 ** 31 - 1;

export interface ClockSettings {
  /** By how much the wall clock is off at first. */
  readonly offsetMs: number;
  /** How fast the monotonic clock runs: 1 = true. */
  readonly rate: number;
  /** As Clock.hourMs. */
  readonly hourMs?: number;
}

export class SimNode {
  readonly name: string;
  readonly kernel: Kernel;
  readonly clock: Clock;
  /** When it was started. */
  readonly bornMs: number;
  readonly #rate: number;
  #offsetMs: number;
  #isAlive = true;
  #pausedUntilMs = 0;
  /** Work that waits for the end of a pause, oldest first. */
  readonly #deferred: (() => void)[] = [];

  constructor(kernel: Kernel, name: string, { offsetMs, rate, hourMs }: ClockSettings = { offsetMs: 0, rate: 1 }) {
    this.kernel = kernel;
    this.name = name;
    this.bornMs = kernel.nowMs;
    this.#offsetMs = offsetMs;
    this.#rate = rate;
    this.clock = {
      ...(hourMs === undefined ? {} : { hourMs }),
      monotonicMs: () => (kernel.nowMs * rate) as MonotonicMs,
      epochMicros: () => Math.round((epochMs + kernel.nowMs * rate + this.#offsetMs) * 1000) as EpochMicros,
      setTimer: (delayMs, callback) => this.#setTimer(delayMs, callback),
    };
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** kill -9. */
  kill(): void {
    this.#isAlive = false;
  }

  /** Runs nothing for that long (SIGSTOP, a long garbage collection), and then all at once. */
  pauseFor(durationMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.kernel.nowMs + durationMs);
  }

  /** Until when the node runs nothing, or the end of its last pause; 0 = it was never paused. */
  get pausedUntilMs(): number {
    return this.#pausedUntilMs;
  }

  /** Sets the wall clock forward, or back. */
  jumpWallClock(ms: number): void {
    this.#offsetMs += ms;
  }

  /** By how much the wall clock is ahead of the true time. */
  get wallClockErrorMs(): number {
    return this.#offsetMs + this.kernel.nowMs * (this.#rate - 1);
  }

  /** Runs `work` on this node: now, later when it is paused, never when it is dead. */
  execute(work: () => void): void {
    if (!this.#isAlive) return;
    if (this.kernel.nowMs >= this.#pausedUntilMs && this.#deferred.length === 0) {
      work();
      return;
    }
    this.#deferred.push(work);
    if (this.#deferred.length === 1) this.#resumeLater();
  }

  /** What came first while the node was paused runs first; everything has its own turn. */
  #resumeLater(): void {
    this.kernel.schedule(Math.max(0, this.#pausedUntilMs - this.kernel.nowMs), () => {
      if (this.kernel.nowMs < this.#pausedUntilMs) return this.#resumeLater();
      const work = this.#deferred.shift();
      if (this.#deferred.length > 0) this.#resumeLater();
      if (this.#isAlive) work?.();
    });
  }

  #setTimer(delayMs: number, callback: () => void): Timer {
    const delay = Math.min(Math.max(0, delayMs), timerMsMax) / this.#rate;
    // Nothing that a dead node still does may reach the world.
    if (!this.#isAlive) return { cancel() {} };
    let isCancelled = false;
    const event = this.kernel.schedule(delay, () =>
      this.execute(() => {
        if (!isCancelled) callback();
      }),
    );
    return {
      cancel() {
        isCancelled = true;
        event.isCancelled = true;
      },
    };
  }
}
