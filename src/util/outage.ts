/**
 * One outage from its first failure to the first success after it, for a log: whoever retries tells when it begins,
 * when it fails in another way than before, and when it is over, but not of each attempt.
 */
import { type Clock, type MonotonicMs } from "./clock.ts";

export class Outage {
  readonly #clock: Clock;
  #sinceMs: MonotonicMs | undefined;
  /** As many as there are kinds of failures. */
  readonly #told = new Set<string>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** An attempt has failed. True if that is to be told. `how`: one of a fixed set of words. */
  failed(how: string): boolean {
    this.#sinceMs ??= this.#clock.monotonicMs();
    if (this.#told.has(how)) return false;
    this.#told.add(how);
    return true;
  }

  /** An attempt has succeeded. How long the outage was, for the log; undefined = there was none. */
  ended(): { readonly lastedSeconds: number } | undefined {
    if (this.#sinceMs === undefined) return undefined;
    const lastedMs = this.#clock.monotonicMs() - this.#sinceMs;
    this.#sinceMs = undefined;
    this.#told.clear();
    return { lastedSeconds: Math.round(lastedMs / 100) / 10 };
  }
}
