/**
 * Limits how often one object is worked on (docs/generator.md#drift), and how fast many pass. Each change that the
 * generator makes is answered by events. When somebody else undoes it each time (a tool that enforces an empty list of
 * finalizers, an admission plug-in that refuses with 409), work and events would chase each other as fast as the server
 * answers.
 */
import { type ObjectKey } from "../api/object-key.ts";
import { later, longAgo, type MonotonicMs } from "../util/clock.ts";

/**
 * A quiet source takes one to three turns for its creation and one for each edit. During a mass deletion each turn
 * may lose against a status write: if one in eight wins, thirty are enough in 98 cases of 100.
 */
const burstTurns = 30;
/** After that, the pace of a dispute without end: three or four requests a second. */
const turnMs = 1000;

interface Account {
  /** Turns spent, of which one is given back every `turnMs`. */
  spent: number;
  atMs: MonotonicMs;
}

export class Pacer {
  /** In the order of the last turn; freed when all turns have been given back. */
  readonly #accounts = new Map<ObjectKey, Account>();

  /**
   * Takes a turn for `key` and returns 0, or returns after how many milliseconds to ask again. These are whole ones, so
   * that rounding never leaves a wait too short for any clock.
   */
  take(key: ObjectKey, nowMs: MonotonicMs): number {
    this.#forget(nowMs);
    const account = this.#accounts.get(key) ?? { spent: 0, atMs: nowMs };
    const spent = Math.max(0, account.spent - (nowMs - account.atMs) / turnMs);
    if (spent > burstTurns - 1) return Math.ceil((spent - (burstTurns - 1)) * turnMs);
    this.#accounts.delete(key);
    this.#accounts.set(key, { spent: spent + 1, atMs: nowMs });
    return 0;
  }

  /** Keys that are remembered, for gauges. */
  get size(): number {
    return this.#accounts.size;
  }

  #forget(nowMs: MonotonicMs): void {
    for (const [key, { atMs }] of this.#accounts) {
      if (nowMs - atMs < burstTurns * turnMs) return;
      this.#accounts.delete(key);
    }
  }
}

/**
 * Lets objects pass one after the other, at a steady pace: changes of our own making, and held ones under the policy
 * "trickle". An object keeps its turn while it waits.
 */
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
