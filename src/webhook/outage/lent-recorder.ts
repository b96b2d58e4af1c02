/**
 * Records in the core what was lent while it took no writes, also when no other review comes: tries again until it has
 * been written.
 */
import { type Clock, sleep } from "../../util/clock.ts";
import { type Rng, uniform } from "../../util/rng.ts";

export interface LentRecorderOptions {
  readonly clock: Clock;
  readonly rng: Rng;
  /** Whether something lent from the PodProtector is not recorded yet. */
  readonly isOpen: (key: string) => boolean;
  /** Tries to record it once; resolves in the end, whatever became of it. */
  readonly record: (key: string) => Promise<unknown>;
}

/**
 * Between two tries. A core that is back counts pods that are gone within a second or two, but until they are recorded
 * its other webhooks may admit what was lent here once more.
 */
const intervalMs = 3_000;
/** So that thousands of PodProtectors do not try at once. */
const jitterMs = 2_000;

export class LentRecorder {
  readonly #options: LentRecorderOptions;
  readonly #open = new Set<string>();
  readonly #stopped = new AbortController();

  constructor(options: LentRecorderOptions) {
    this.#options = options;
  }

  /** Something was lent from the PodProtector. Returns at once. */
  lent(key: string): void {
    if (this.#open.has(key)) return;
    this.#open.add(key);
    void this.#recordAll(key);
  }

  /** Tries no more. */
  stop(): void {
    this.#stopped.abort();
  }

  async #recordAll(key: string): Promise<void> {
    const { clock, rng, isOpen, record } = this.#options;
    const { signal } = this.#stopped;
    while (isOpen(key) && !signal.aborted) {
      await sleep(clock, intervalMs + uniform(rng, 0, jitterMs), signal);
      if (!signal.aborted) await record(key);
    }
    this.#open.delete(key);
  }
}
