/**
 * Limits the bytes of status writes per core (design 2.5): etcd keeps every revision until it compacts, so a fast
 * writer of large objects fills its database. The larger an object, the longer its next write waits.
 *
 * Nobody knows how many objects will be written at once, and their first writes are not held back: a review must not
 * fail because of what happens to other workloads. They are charged, and the objects that were written wait until the
 * core has made up for it. The bounds:
 * - For its own bytes an object waits as long as they take (0.5 ms per kB).
 * - For the others it waits at most 1 s; or, if it was written lately, until that was 1 s ago for each kB, at most 10
 *   s.
 * - Beyond its 2 MB/s a core gets from each object at worst 1 kB/s, or one write in 10 s.
 */
import { type Clock } from "../../util/clock.ts";

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
/** As long as a review by default: whoever asks again later comes with a new one. */
const idleAfterMsMax = 10_000;
/**
 * Objects whose last write is remembered. Of more than that the oldest ones count as idle early, which at worst lets
 * the core run ahead.
 */
const objectsMax = 10_000;

export interface WritePacer {
  /** Milliseconds until `object` of `core` may be written again. */
  delayMs(core: string, object: string): number;
  /** A write of this size was, or may have been, stored. */
  wrote(core: string, object: string, bytes: number): void;
}

export function createWritePacer(clock: Clock): WritePacer {
  /** When all bytes written so far have found room at `bytesPerMs`. */
  const coreDueMs = new Map<string, number>();
  /** The last write of each object, the oldest first. */
  const writes = new Map<string, { readonly dueMs: number; readonly idleMs: number }>();
  return {
    delayMs(core, object) {
      const nowMs = clock.monotonicMs();
      const { dueMs, idleMs } = writes.get(object) ?? { dueMs: 0, idleMs: 0 };
      const othersMs = Math.min((coreDueMs.get(core) ?? 0) - burstMs, Math.max(idleMs, nowMs + idleWaitMsMax));
      return Math.max(0, dueMs - nowMs, othersMs - nowMs);
    },
    wrote(core, object, bytes) {
      const nowMs = clock.monotonicMs();
      const ownMs = bytes / bytesPerMs;
      coreDueMs.set(core, Math.max(coreDueMs.get(core) ?? 0, nowMs) + ownMs);
      writes.delete(object);
      writes.set(object, { dueMs: nowMs + ownMs, idleMs: nowMs + Math.min(bytes * idleMsPerByte, idleAfterMsMax) });
      const [oldest] = writes.keys();
      if (writes.size > objectsMax && oldest !== undefined) writes.delete(oldest);
    },
  };
}
