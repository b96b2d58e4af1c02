/**
 * How often a log tells of what repeats: the first of a key at once, then at most one line in a while, which says how
 * many others there were. The last one stays in memory until it is told, so that no count is lost.
 */
import { type Clock, later, type MonotonicMs, type Timer } from "./clock.ts";

export interface LineLimitOptions {
  /** Between two lines of a key, in milliseconds. */
  readonly everyMs: number;
  /** Keys with lines of their own at the same time; all further ones share the lines of one more. */
  readonly keysMax: number;
  readonly clock: Clock;
}

/** Writes a line that stands for `others` of its key, too, that were not told. */
export type WriteLine = (others: number) => void;

/** A key that was told. */
interface Told {
  readonly untilMs: MonotonicMs;
  /** What came since. */
  waiting: { count: number; write: WriteLine; readonly timer: Timer } | undefined;
}

/** No key of a user of this class is empty. */
const sharedKey = "";

export class LineLimit {
  readonly #options: LineLimitOptions;
  /** At most `keysMax` and the shared one; the one that was told first is the first. */
  readonly #told = new Map<string, Told>();
  #isClosed = false;

  constructor(options: LineLimitOptions) {
    this.#options = options;
  }

  /** `write` is called at once, later in place of all since the last line, or never, when a newer one is told. */
  tell(key: string, write: WriteLine): void {
    const nowMs = this.#options.clock.monotonicMs();
    const own = this.#hasRoom(key, nowMs) ? key : sharedKey;
    const told = this.#told.get(own);
    if (told === undefined || nowMs >= told.untilMs) {
      this.#write(own, write, 0);
    } else if (told.waiting === undefined) {
      const timer = this.#options.clock.setTimer(told.untilMs - nowMs, () => this.#tellWaiting(own));
      told.waiting = { count: 1, write, timer };
    } else {
      told.waiting.count += 1;
      told.waiting.write = write;
    }
  }

  /** Tells what is left; from now on nothing waits. */
  close(): void {
    this.#isClosed = true;
    for (const key of this.#told.keys()) this.#tellWaiting(key);
    this.#told.clear();
  }

  #hasRoom(key: string, nowMs: MonotonicMs): boolean {
    if (this.#told.has(key) || this.#ownKeys < this.#options.keysMax) return true;
    for (const [other, { untilMs, waiting }] of this.#told) {
      if (waiting !== undefined || nowMs < untilMs) break;
      this.#told.delete(other);
    }
    return this.#ownKeys < this.#options.keysMax;
  }

  get #ownKeys(): number {
    return this.#told.size - (this.#told.has(sharedKey) ? 1 : 0);
  }

  #tellWaiting(key: string): void {
    const waiting = this.#told.get(key)?.waiting;
    if (waiting === undefined) return;
    waiting.timer.cancel();
    this.#write(key, waiting.write, waiting.count - 1);
  }

  #write(key: string, write: WriteLine, others: number): void {
    const { clock, everyMs } = this.#options;
    this.#told.delete(key);
    if (!this.#isClosed) this.#told.set(key, { untilMs: later(clock.monotonicMs(), everyMs), waiting: undefined });
    write(others);
  }
}
