/**
 * Reviews that cost much to read take turns: one at a time, and no more than a quarter of the time for all of them
 * together. So nobody can fill the event loop with them, and small reviews never wait behind one for longer than it
 * takes to parse it.
 */
import { type Clock, later, longAgo, type MonotonicMs } from "../../util/clock.ts";

/** After a turn nobody has one for this many times as long as it took. */
const restFactor = 3;
/** Waiting bodies: four of the largest, or a hundred just above `smallBytesMax`. */
const waitingBytesMax = 32 * 1024 * 1024;

interface Waiting {
  readonly bytes: number;
  /** Parses; or, when it is too late, does not. Never throws. */
  readonly start: (nowMs: MonotonicMs) => void;
}

export class ParseTurns {
  readonly #clock: Clock;
  readonly #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #freeAtMs = longAgo;
  /** A timer is set that starts the next one. */
  #isPaced = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Calls `parse` in its turn, for a body of `bytes`, and resolves to its result. Undefined, without calling it, when
   * too many wait, or when the deadline has passed. Rejects with what `parse` throws.
   */
  run<T>(bytes: number, deadlineMs: MonotonicMs, parse: () => T): Promise<T | undefined> {
    if (this.#waiting.length > 0 && this.#waitingBytes + bytes > waitingBytesMax) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const start = (nowMs: MonotonicMs): void => {
        // Called at once; what it throws becomes the rejection.
        const parsed = (): Promise<T> => new Promise((done) => done(parse()));
        resolve(nowMs < deadlineMs ? parsed() : undefined);
      };
      this.#waiting.push({ bytes, start });
      this.#waitingBytes += bytes;
      this.#pace();
    });
  }

  #pace(): void {
    if (this.#isPaced || this.#waiting.length === 0) return;
    this.#isPaced = true;
    this.#clock.setTimer(Math.max(0, this.#freeAtMs - this.#clock.monotonicMs()), () => {
      this.#isPaced = false;
      this.#startNext();
    });
  }

  #startNext(): void {
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.#waitingBytes -= next.bytes;
    const startMs = this.#clock.monotonicMs();
    next.start(startMs);
    const nowMs = this.#clock.monotonicMs();
    this.#freeAtMs = later(nowMs, (nowMs - startMs) * restFactor);
    this.#pace();
  }
}
