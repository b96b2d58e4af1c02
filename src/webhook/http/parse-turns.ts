/**
 * Reviews that cost much to read take turns: one at a time, and no more than a quarter of the time for all of them
 * together. So nobody can fill the event loop with them, and small reviews never wait behind one for longer than it
 * takes to parse it. Those who wait take turns by the address that they come from: whoever sends many waits for its
 * own, and an API server at another address has every second turn.
 */
import { type Clock, later, longAgo, type MonotonicMs } from "../../util/clock.ts";

/** After a turn nobody has one for this many times as long as it took. */
const restFactor = 3;
/** Waiting bodies: four of the largest, or a hundred just above `smallBytesMax`. */
const waitingBytesMax = 32 * 1024 * 1024;
/** Of one address, unless a client certificate identifies who it is: one of the largest. */
const waitingBytesOfAddressMax = waitingBytesMax / 4;

/** Where a review comes from, and until when it is waited for. */
export interface Asked {
  readonly deadlineMonotonicMs: MonotonicMs;
  readonly peer?: string | undefined;
  /** `peer`, unless its client is identified. */
  readonly unidentifiedPeer?: string | undefined;
}

interface Waiting {
  readonly bytes: number;
  /** Parses; or, when it is too late, does not. Never throws. */
  readonly start: (nowMs: MonotonicMs) => void;
}

export class ParseTurns {
  readonly #clock: Clock;
  /** By address, none of them empty; the first one is next, and then goes to the end. */
  readonly #waiting = new Map<string, Waiting[]>();
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
  run<T>(
    bytes: number,
    { deadlineMonotonicMs, peer = "", unidentifiedPeer }: Asked,
    parse: () => T,
  ): Promise<T | undefined> {
    const queue = this.#waiting.get(peer) ?? [];
    if (this.#waiting.size > 0 && this.#waitingBytes + bytes > waitingBytesMax) return Promise.resolve(undefined);
    if (unidentifiedPeer !== undefined && queue.length > 0) {
      const ofAddress = queue.reduce((sum, one) => sum + one.bytes, 0);
      if (ofAddress + bytes > waitingBytesOfAddressMax) return Promise.resolve(undefined);
    }
    return new Promise((resolve) => {
      const start = (nowMs: MonotonicMs): void => {
        // Called at once; what it throws becomes the rejection.
        const parsed = (): Promise<T> => new Promise((done) => done(parse()));
        resolve(nowMs < deadlineMonotonicMs ? parsed() : undefined);
      };
      queue.push({ bytes, start });
      this.#waiting.set(peer, queue);
      this.#waitingBytes += bytes;
      this.#pace();
    });
  }

  #pace(): void {
    if (this.#isPaced || this.#waiting.size === 0) return;
    this.#isPaced = true;
    this.#clock.setTimer(Math.max(0, this.#freeAtMs - this.#clock.monotonicMs()), () => {
      this.#isPaced = false;
      this.#startNext();
    });
  }

  #startNext(): void {
    const next = this.#take();
    if (next === undefined) return;
    this.#waitingBytes -= next.bytes;
    const startMs = this.#clock.monotonicMs();
    next.start(startMs);
    const nowMs = this.#clock.monotonicMs();
    this.#freeAtMs = later(nowMs, (nowMs - startMs) * restFactor);
    this.#pace();
  }

  #take(): Waiting | undefined {
    for (const [peer, queue] of this.#waiting) {
      const next = queue.shift();
      this.#waiting.delete(peer);
      if (queue.length > 0) this.#waiting.set(peer, queue);
      return next;
    }
    return undefined;
  }
}
