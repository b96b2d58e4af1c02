/**
 * A machine, or a process on it: a clock of its own, which may be off, drift and jump; it may die. A dead
 * node's timers never fire, so that its code stops at the very point where it waits; a paused one's fire late. The
 * monotonic clock of a suspended one stands still meanwhile, and its timers with it.
 */
import { type MonotonicMs, type Clock, type EpochMicros, type Timer } from "../../../src/util/clock.ts";
import { type Kernel } from "./kernel.ts";

/** The true wall clock at the beginning. */
export const epochMs = Date.UTC(2026, 0, 1);
/** Node shortens longer delays to that, too. */
const timerMsMax = 2 ** 31 - 1;

/** A moment that is reached by adding what is left may be missed by a little. */
const roundingMs = 1e-6;
/** What is waited for at least, unless it is nothing: no clock measures less, and time would stand still. */
const leastMs = 1e-3;

export interface ClockSettings {
  /** By how much the wall clock is off at first. */
  readonly offsetMs: number;
  /** How fast the monotonic clock runs: 1 = true. */
  readonly rate: number;
  /** As Clock.givenShare. */
  readonly givenShare?: number;
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
  #lastTurn: number;
  #pausedUntilMs = 0;
  #suspendedFromMs = 0;
  #suspendedUntilMs = 0;
  /** For how long the monotonic clock has stood still before that. */
  #stoodBeforeMs = 0;
  /** Work that waits for the end of a pause, oldest first. */
  readonly #deferred: (() => void)[] = [];

  constructor(kernel: Kernel, name: string, { offsetMs, rate, givenShare }: ClockSettings = { offsetMs: 0, rate: 1 }) {
    this.kernel = kernel;
    this.name = name;
    this.bornMs = kernel.nowMs;
    this.#lastTurn = kernel.turns;
    this.#offsetMs = offsetMs;
    this.#rate = rate;
    this.clock = {
      ...(givenShare === undefined ? {} : { givenShare }),
      monotonicMs: () => ((kernel.nowMs - this.#stoodMs()) * rate) as MonotonicMs,
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

  /** The kernel's last event in which something ran here. */
  get lastTurn(): number {
    return this.#lastTurn;
  }

  /** Something runs here at once, whatever the state of the node: somebody outside has called it. */
  woken(): void {
    this.#lastTurn = this.kernel.turns;
  }

  /** Runs nothing for that long (SIGSTOP, a long garbage collection), and then all at once. */
  pauseFor(durationMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.kernel.nowMs + durationMs);
  }

  /** The machine sleeps for that long, and its monotonic clock stands still: as Linux has it. */
  suspendFor(durationMs: number): void {
    this.#stoodBeforeMs = this.#stoodMs();
    this.#suspendedFromMs = this.kernel.nowMs;
    this.#suspendedUntilMs = this.kernel.nowMs + durationMs;
    this.pauseFor(durationMs);
  }

  #stoodMs(): number {
    const untilMs = Math.min(this.kernel.nowMs, this.#suspendedUntilMs);
    return this.#stoodBeforeMs + Math.max(0, untilMs - this.#suspendedFromMs);
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
      this.woken();
      work();
      return;
    }
    this.#deferred.push(work);
    if (this.#deferred.length === 1) this.#resumeLater();
  }

  /** What came first while the node was paused runs first; everything has its own turn. */
  #resumeLater(): void {
    this.kernel.schedule(Math.max(0, this.#pausedUntilMs - this.kernel.nowMs), () => {
      if (this.kernel.nowMs < this.#pausedUntilMs - roundingMs) return this.#resumeLater();
      const work = this.#deferred.shift();
      if (this.#deferred.length > 0) this.#resumeLater();
      this.woken();
      if (this.#isAlive) work?.();
    });
  }

  #setTimer(delayMs: number, callback: () => void): Timer {
    const delay = Math.min(Math.max(delayMs > 0 ? leastMs : 0, delayMs), timerMsMax) / this.#rate;
    // Nothing that a dead node still does may reach the world.
    if (!this.#isAlive) return { cancel() {} };
    let isCancelled = false;
    const dueMs = this.kernel.nowMs + delay - this.#stoodMs();
    const fire = (): void =>
      this.execute(() => {
        if (isCancelled) return;
        // What the clock has stood still since is still to be waited for.
        const restMs = dueMs + this.#stoodMs() - this.kernel.nowMs;
        if (restMs < 1) callback();
        else event = this.kernel.schedule(restMs, fire);
      });
    let event = this.kernel.schedule(delay, fire);
    return {
      cancel() {
        isCancelled = true;
        event.isCancelled = true;
      },
    };
  }
}
