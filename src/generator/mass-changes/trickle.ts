/**
 * Lets objects pass one after the other, at a steady pace: changes of our own making, and held ones under the policy
 * "trickle". An object keeps its turn while it waits.
 */
import { type ObjectKey } from "../../api/object-key.ts";
import { later, longAgo, type MonotonicMs } from "../../util/clock.ts";

export class Trickle {
  readonly #everyMs: number;
  /** When each waiting object has its turn; freed when it has passed, or is forgotten. */
  readonly #turns = new Map<ObjectKey, MonotonicMs>();
  #lastMs: MonotonicMs = longAgo;

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  /** Returns 0 when the object may pass, else after how many milliseconds to ask again. */
  take(key: ObjectKey, nowMs: MonotonicMs): number {
    let turnMs = this.#turns.get(key);
    if (turnMs === undefined) {
      turnMs = Math.max(nowMs, later(this.#lastMs, this.#everyMs)) as MonotonicMs;
      this.#lastMs = turnMs;
      this.#turns.set(key, turnMs);
    }
    if (turnMs > nowMs) return Math.ceil(turnMs - nowMs);
    this.#turns.delete(key);
    return 0;
  }

  forget(key: ObjectKey): void {
    this.#turns.delete(key);
  }

  clear(): void {
    this.#turns.clear();
    this.#lastMs = longAgo;
  }
}
