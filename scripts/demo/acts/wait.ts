/** Waiting for what the clusters come to by themselves. */
import { type Clock, sleep } from "../../../src/util/clock.ts";

const pollMs = 50;

/** What acts need besides the clusters. */
export interface Stage {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Tells the audience what just happened. */
  readonly tell: (text: string) => void;
}

/** Resolves to true as soon as `isTrue`, and to false after `limitMs`. Throws when the demo is stopped. */
export async function waitUntil({ clock, signal }: Stage, limitMs: number, isTrue: () => boolean): Promise<boolean> {
  const deadlineMs = clock.monotonicMs() + limitMs;
  while (!isTrue()) {
    if (clock.monotonicMs() > deadlineMs) return false;
    await sleep(clock, pollMs, signal);
    signal.throwIfAborted();
  }
  return true;
}
