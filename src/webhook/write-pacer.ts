/**
 * Limits the bytes of status writes per core (design 2.5): etcd keeps every revision until it compacts, so a fast writer of large objects fills its
 * database. The larger an object, the longer its next write waits.
 */
import { type Clock } from "../util/clock.ts";

/** 2 MB/s is 600 MB between two compactions of the API server (5 minutes), a third of etcd's default database limit of 2 GB. */
const bytesPerMs = 2_000;
/** A core may run ahead by this much, so that many small bursts at once do not wait: 0.5 MB. */
const burstMs = 250;
/** Objects whose time to wait is remembered; beyond it those that have waited are forgotten. */
const objectsMax = 10_000;

export interface WritePacer {
  /** Milliseconds until `object` of `core` may be written again. */
  delayMs(core: string, object: string): number;
  /** A write of this size was sent. */
  wrote(core: string, object: string, bytes: number): void;
}

export function createWritePacer(clock: Clock): WritePacer {
  /** When all bytes written so far have found room at `bytesPerMs`. */
  const coreDueMs = new Map<string, number>();
  const objectDueMs = new Map<string, number>();
  return {
    delayMs(core, object) {
      const dueMs = Math.max((coreDueMs.get(core) ?? 0) - burstMs, objectDueMs.get(object) ?? 0);
      return Math.max(0, dueMs - clock.monotonicMs());
    },
    wrote(core, object, bytes) {
      const nowMs = clock.monotonicMs();
      coreDueMs.set(core, Math.max(coreDueMs.get(core) ?? 0, nowMs) + bytes / bytesPerMs);
      objectDueMs.set(object, nowMs + bytes / bytesPerMs);
      if (objectDueMs.size <= objectsMax) return;
      for (const [key, dueMs] of objectDueMs) if (dueMs <= nowMs) objectDueMs.delete(key);
    },
  };
}
