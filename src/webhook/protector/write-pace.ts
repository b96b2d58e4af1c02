/**
 * Limits the bytes of status writes per core (docs/webhook.md#batching): etcd keeps every revision until it compacts,
 * so a fast writer of large objects fills its database. The larger an object, the longer its next write waits.
 *
 * How many objects will be written at once is not known, and their first writes are not held back: a review must not
 * fail because of what happens to other workloads. They are charged, and the objects that were written wait until the
 * core has made up for it. The bounds:
 * - For its own bytes an object waits as long as they take (0.5 ms per kB).
 * - For the others it waits at most 1 s; or, if it was written lately, until that was 1 s ago for each kB, at most 10
 *   s.
 * - Beyond its 2 MB/s a core gets from each object at worst 1 kB/s, or one write in 10 s.
 */
import { type Clock, later, longAgo, type MonotonicMs } from "../../util/clock.ts";

/**
 * 2 MB/s is 600 MB between two compactions of the API server (5 minutes), a third of etcd's default database limit of 2
 * GB.
 */
const bytesPerMs = 2_000;
/** A core may run ahead by this much, so that many small bursts at once do not wait: 0.5 MB. */
const burstMs = 250;
/** A review has 10 s by default; after this wait it can still write, lose a race and write again. */
const idleWaitMsMax = 1_000;
/**
 * At the default of 200 requests/s, objects below 10 kB cannot exceed the limit: the smaller, the less they pay for the
 * others.
 */
const idleMsPerByte = 1;
/** As long as a review by default: a caller that asks again later comes with a new one. */
const idleAfterMsMax = 10_000;
/** What the pace needs to know of one object. */
export interface ObjectPace {
  /** Its own bytes have found room then. */
  due: MonotonicMs;
  /** From then on it counts as idle. */
  idle: MonotonicMs;
}

/** The pace of an object that was not written yet. */
export function idlePace(): ObjectPace {
  return { due: longAgo, idle: longAgo };
}

/** The pace of all writes to one core. */
export class CorePace {
  readonly #clock: Clock;
  /** When all bytes written so far have found room at `bytesPerMs`. */
  #due: MonotonicMs = longAgo;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds until the object may be written again. */
  delayMs({ due, idle }: ObjectPace): number {
    const now = this.#clock.monotonicMs();
    const others = Math.min(later(this.#due, -burstMs), Math.max(idle, later(now, idleWaitMsMax)));
    return Math.max(0, due - now, others - now);
  }

  /** A write of this size was, or may have been, stored. */
  wrote(object: ObjectPace, bytes: number): void {
    const now = this.#clock.monotonicMs();
    const ownMs = bytes / bytesPerMs;
    this.#due = later(Math.max(this.#due, now) as MonotonicMs, ownMs);
    object.due = later(now, ownMs);
    object.idle = later(now, Math.min(bytes * idleMsPerByte, idleAfterMsMax));
  }
}
