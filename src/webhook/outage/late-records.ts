/**
 * Records what was admitted on the last known quota, even if no other review comes: tries again until it has been
 * written.
 */
import { type Clock, sleep } from "../../util/clock.ts";
import { type Rng, uniform } from "../../util/rng.ts";

/**
 * Between two tries. A core that is back counts pods that are gone within a second or two, but until they are recorded
 * its other webhooks may admit what was admitted here once more.
 */
const intervalMs = 3_000;
/** So that thousands of PodProtectors do not try at once. */
const jitterMs = 2_000;

export interface LateRecord {
  /** Whether something is not recorded yet. */
  readonly isOpen: () => boolean;
  /** Tries to record it once; resolves in the end, whatever became of it. */
  readonly record: () => Promise<unknown>;
}

/** Resolves when all is recorded, or `signal` has aborted. */
export async function recordLate({ isOpen, record }: LateRecord, clock: Clock, rng: Rng, signal: AbortSignal) {
  while (isOpen() && !signal.aborted) {
    await sleep(clock, intervalMs + uniform(rng, 0, jitterMs), signal);
    if (!signal.aborted) await record();
  }
}
