/**
 * Which PodProtectors are not counted as the snapshot shows them: what a heartbeat must not vouch for
 * (docs/aggregator.md#heartbeat).
 * - *Due*: something has happened, and no aggregation that began since then has succeeded.
 * - *Open in the round*: before the first beat of a term, and after a gap, all are counted once more in a *round*, by a
 *   snapshot that has passed a barrier. What is not counted then stays open until it is.
 *
 * Kept only while leading. At most one entry of each kind for a PodProtector.
 */
import { type ObjectKey } from "../../api/object-key.ts";
import { earlierOf, type MonotonicMs } from "../../util/clock.ts";

/**
 * How an aggregation ended.
 * - `counted`: what is recorded is what the snapshot shows, or it is not ours to count.
 * - `uncountable`: no aggregation will succeed before the PodProtector is edited.
 * - `open`: it failed, or waits for the watch or a barrier.
 */
export type Counted = "counted" | "uncountable" | "open";

export interface BacklogOptions {
  /** All PodProtectors that are known. */
  readonly keys: () => Iterable<ObjectKey>;
  readonly uidOf: (key: ObjectKey) => string | undefined;
  /** Has one aggregated soon. */
  readonly add: (key: ObjectKey) => void;
}

export class Backlog {
  readonly #options: BacklogOptions;
  /** Since when. */
  readonly #due = new Map<ObjectKey, MonotonicMs>();
  readonly #inWork = new Map<ObjectKey, { readonly sinceMs: MonotonicMs; readonly round: number }>();
  readonly #open = new Set<ObjectKey>();
  /** Those of `#open` for which the first beat need not wait. */
  readonly #uncountable = new Set<ObjectKey>();
  #round = 0;

  constructor(options: BacklogOptions) {
    this.#options = options;
  }

  /** Something has happened that may change what is recorded, and should be counted by `atMs`. */
  due(key: ObjectKey, atMs: MonotonicMs): void {
    if (!this.#due.has(key)) this.#due.set(key, atMs);
  }

  /** An aggregation begins. */
  began(key: ObjectKey, nowMs: MonotonicMs): void {
    this.#inWork.set(key, { sinceMs: this.#due.get(key) ?? nowMs, round: this.#round });
    this.#due.delete(key);
  }

  /** It has ended. What became due meanwhile stays due. */
  ended(key: ObjectKey, how: Counted): void {
    const work = this.#inWork.get(key);
    if (work === undefined) return;
    this.#inWork.delete(key);
    if (how !== "counted") this.#due.set(key, earlierOf<MonotonicMs>(work.sinceMs, this.#due.get(key)) ?? work.sinceMs);
    if (work.round !== this.#round || !this.#open.has(key)) return;
    if (how === "counted") this.#open.delete(key);
    if (how === "uncountable") this.#uncountable.add(key);
    else this.#uncountable.delete(key);
  }

  /** The PodProtector is gone. */
  forget(key: ObjectKey): void {
    this.#due.delete(key);
    this.#inWork.delete(key);
    this.#open.delete(key);
    this.#uncountable.delete(key);
  }

  /** Leadership has ended. */
  clear(): void {
    this.#due.clear();
    this.#inWork.clear();
    this.#open.clear();
    this.#uncountable.clear();
  }

  /** Has every PodProtector aggregated once more. Aggregations that run already do not count. */
  startRound(): void {
    this.#round += 1;
    this.#open.clear();
    this.#uncountable.clear();
    for (const key of this.#options.keys()) {
      this.#open.add(key);
      this.#options.add(key);
    }
  }

  /** Whether the round has nothing to wait for. */
  get isRoundDone(): boolean {
    return this.#open.size === this.#uncountable.size;
  }

  /** UIDs of the PodProtectors that are open in the round, or have been due since before `beforeMs`. */
  behind(beforeMs: MonotonicMs): readonly string[] {
    const keys = new Set(this.#open);
    for (const [key, sinceMs] of this.#due) if (sinceMs < beforeMs) keys.add(key);
    for (const [key, { sinceMs }] of this.#inWork) if (sinceMs < beforeMs) keys.add(key);
    const { uidOf } = this.#options;
    return [...keys].map((key) => uidOf(key)).filter((uid) => uid !== undefined);
  }
}
