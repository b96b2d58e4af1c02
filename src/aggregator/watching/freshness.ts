/**
 * Keeps a watch provably fresh (docs/aggregator.md#heartbeat): asks for LIST barriers all the time, and lists again
 * when one is not passed. Events and bookmarks prove nothing: a watch that is 20 minutes late delivers them, too.
 */
import { type SilenceTimes } from "../../accounting/silence/silence-times.ts";
import { later, longAgo, type MonotonicMs } from "../../util/clock.ts";
import { type Rng, uniform } from "../../util/rng.ts";

/** A watch whose progress can be proven. */
export interface ProvableWatch {
  /** When the newest barrier that it has passed was sent; `longAgo` when none was. */
  readonly barrierSentAtMs: MonotonicMs;
  /** When the oldest barrier was sent that was answered, and that it has not passed. */
  readonly barrierWaitsSinceMs: MonotonicMs | undefined;
  /** Asks for a barrier that is sent after `fromMs`. */
  wantBarrier(fromMs: MonotonicMs): void;
  /** Lists again with the version unset, which passes all barriers that wait. */
  relist(): void;
}

/**
 * Longest random part of the wait for a barrier. All cells watch the same core, and must not list it all at once; with
 * it there is still time before the watch counts as stale.
 */
const patienceJitter = 0.15;

export class Freshness {
  readonly #watch: ProvableWatch;
  readonly #times: SilenceTimes;
  readonly #rng: Rng;
  #askedAtMs: MonotonicMs = longAgo;
  #relistedAtMs: MonotonicMs = longAgo;
  #patienceMs: number;

  constructor(watch: ProvableWatch, times: SilenceTimes, rng: Rng) {
    this.#watch = watch;
    this.#times = times;
    this.#rng = rng;
    this.#patienceMs = this.#drawPatience();
  }

  /** Call this often: sends what is due. */
  keep(nowMs: MonotonicMs): void {
    if (nowMs >= later(this.#askedAtMs, this.#times.barrierMs)) {
      this.#askedAtMs = nowMs;
      this.#watch.wantBarrier(nowMs);
    }
    const sinceMs = this.#watch.barrierWaitsSinceMs;
    if (sinceMs === undefined || nowMs < later(sinceMs, this.#patienceMs)) return;
    if (nowMs < later(this.#relistedAtMs, this.#times.relistSpacingMs)) return;
    this.#relistedAtMs = nowMs;
    this.#patienceMs = this.#drawPatience();
    this.#watch.relist();
  }

  /** Whether the watch has passed a barrier that was sent within the last `withinMs`. */
  isProven(nowMs: MonotonicMs, withinMs: number): boolean {
    return nowMs <= later(this.#watch.barrierSentAtMs, withinMs);
  }

  #drawPatience(): number {
    return this.#times.relistMs * uniform(this.#rng, 1, 1 + patienceJitter);
  }
}
