/**
 * Limits how often one object is worked on. Each change that the generator makes is answered by events; when somebody
 * else undoes it each time (a tool that enforces an empty list of finalizers, an admission plug-in that refuses with
 * 409), work and events would chase each other as fast as the server answers.
 */

/**
 * A quiet Deployment takes one to three turns for its creation and one for each edit. During a mass deletion status
 * writes make each turn a gamble: where one in eight wins, thirty are enough in 98 cases of 100.
 */
const burstTurns = 30;
/** Then the pace of a dispute that nobody wins: three or four requests a second. */
const turnMs = 1000;

interface Account {
  /** Turns spent, of which one is given back every `turnMs`. */
  spent: number;
  atMs: number;
}

export class Pacer {
  /** In the order of the last turn; freed when all turns have been given back. */
  readonly #accounts = new Map<string, Account>();

  /**
   * Takes a turn for `key` and answers 0, or answers after how many milliseconds to ask again: whole ones, so that
   * rounding leaves no wait of nothing.
   */
  take(key: string, nowMs: number): number {
    this.#forget(nowMs);
    const account = this.#accounts.get(key) ?? { spent: 0, atMs: nowMs };
    const spent = Math.max(0, account.spent - (nowMs - account.atMs) / turnMs);
    if (spent > burstTurns - 1) return Math.ceil((spent - (burstTurns - 1)) * turnMs);
    this.#accounts.delete(key);
    this.#accounts.set(key, { spent: spent + 1, atMs: nowMs });
    return 0;
  }

  /** Keys that are remembered. */
  get size(): number {
    return this.#accounts.size;
  }

  #forget(nowMs: number): void {
    for (const [key, { atMs }] of this.#accounts) {
      if (nowMs - atMs < burstTurns * turnMs) return;
      this.#accounts.delete(key);
    }
  }
}
