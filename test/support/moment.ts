import { type MonotonicMs } from "../../src/util/clock.ts";

/** A moment of a test's monotonic clock, `ms` after its origin. */
export function at(ms: number): MonotonicMs {
  return ms as MonotonicMs;
}
