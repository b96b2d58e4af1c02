/**
 * LIST barriers (docs/aggregator.md#barriers). A LIST with resourceVersion unset returns a version R, and everything
 * committed before it was sent is at or below R (docs/kubernetes.md#resource-versions). Once the watch has delivered R,
 * the snapshot includes all of that.
 * - A barrier below what the watch had delivered before it was sent means that the worker's history was reset.
 * - A snapshot that goes back by itself (a relist from a server that lags, or after a reset) includes nothing for
 *   certain any more: all barriers are forgotten, and one is sent to find out which of the two it was.
 *
 * `Freshness` keeps a watch provably fresh for heartbeats (docs/aggregator.md#heartbeat): it asks for barriers all the
 * time, and lists again when one is not passed. Events and bookmarks prove nothing: a watch that is 20 minutes late
 * delivers them, too.
 */
import { type SilenceTimes } from "../../accounting/silence/silence-times.ts";
import { compareResourceVersions, newerResourceVersion, type ResourceVersion } from "../../api/resource-version.ts";
import { errorLabel } from "../../kube/kube-client.ts";
import { type Clock, later, longAgo, type MonotonicMs, type Timer } from "../../util/clock.ts";
import { Outage } from "../../util/outage.ts";
import { type Rng, uniform } from "../../util/rng.ts";

export interface BarrierOptions {
  readonly clock: Clock;
  /** Sends the LIST. Rejects with a KubeError. */
  readonly list: (signal: AbortSignal) => Promise<ResourceVersion>;
  /** Lists all objects again, which passes all barriers that wait. */
  readonly relist: () => void;
  /** The snapshot has passed a newer barrier. */
  readonly onPassed: () => void;
  /** A LIST has returned, and the watch has not reached its version: an event in the cell would help. */
  readonly onWaiting: () => void;
  /** The snapshot has gone back to an older version, and all barriers are forgotten. */
  readonly onWentBack: (version: ResourceVersion) => void;
  readonly onHistoryReset: (details: { readonly barrier: ResourceVersion; readonly snapshot: ResourceVersion }) => void;
  /** LISTs fail, once for each way to fail. */
  readonly onError: (error: unknown) => void;
  /** They do not fail any more. */
  readonly onErrorsOver: (outage: { readonly lastedSeconds: number }) => void;
}

/**
 * Least time between two LISTs: many buckets share a barrier, somebody waits for it, and the update-trigger makes an
 * event for it as often. A LIST of one pod costs an API server about as much as a read.
 */
const spacingMs = 200;
/** Least time between a failed LIST and the next. */
const retryMs = 2000;
/**
 * Most LISTs whose version the watch has not reached yet. Beyond it a new one replaces the last, since it proves more.
 * The older ones stay, or a watch that lags by more than this many LISTs would never reach any.
 */
const pendingMax = 8;

export class BarrierTracker {
  readonly #options: BarrierOptions;
  #passedSentAtMs: MonotonicMs = longAgo;
  #pending: { readonly sentAtMs: MonotonicMs; readonly version: ResourceVersion }[] = [];
  #wantedFromMs: MonotonicMs | undefined;
  #timer: Timer | undefined;
  /** When the LIST was sent that has not been answered. */
  #inFlightSentAtMs: MonotonicMs | undefined;
  /** The version that the snapshot has reached. */
  #reached: ResourceVersion | undefined;
  /** The highest version of this history. */
  #highest: ResourceVersion | undefined;
  /** Counts how often everything was forgotten. */
  #epoch = 0;
  #lastSentAtMs: MonotonicMs = longAgo;
  #signal: AbortSignal | undefined;
  readonly #outage: Outage;

  constructor(options: BarrierOptions) {
    this.#options = options;
    this.#outage = new Outage(options.clock);
  }

  /** Sends LISTs until the signal aborts, including those that were asked for before. */
  start(signal: AbortSignal): void {
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#timer?.cancel(), { once: true });
    this.#schedule();
  }

  /** When the newest passed barrier was sent; `longAgo` when none was. */
  get passedSentAtMs(): MonotonicMs {
    return this.#passedSentAtMs;
  }

  /** When the oldest LIST was sent whose version the watch has not reached yet. */
  get waitingSinceMs(): MonotonicMs | undefined {
    return this.#pending[0]?.sentAtMs;
  }

  /** A consistent (re)list of the informer, sent at `sentAtMs`, has been applied: it is a barrier by itself. */
  listed(sentAtMs: MonotonicMs): void {
    this.#pass(sentAtMs);
  }

  /** Lists all objects again, which passes all barriers that wait. The caller limits how often. */
  relist(): void {
    this.#options.relist();
  }

  /**
   * Asks for a barrier that is sent after `fromMs`, which may lie ahead. A later request is merged into an earlier one:
   * when that barrier is passed, callers ask again for what they still need.
   */
  want(fromMs: MonotonicMs): void {
    const before = this.#wantedFromMs;
    if (this.#isCovered(fromMs) || (before !== undefined && before <= fromMs && !this.#isCovered(before))) return;
    this.#wantedFromMs = fromMs;
    this.#schedule();
  }

  /** The snapshot has moved to `version`. Call it for every version that the watch or a list has reached. */
  progressed(version: ResourceVersion): void {
    const wentBack = this.#reached !== undefined && compareResourceVersions(version, this.#reached) < 0;
    this.#reached = version;
    this.#highest = newerResourceVersion(version, this.#highest);
    if (wentBack) {
      this.#forget();
      this.#options.onWentBack(version);
      this.want(this.#options.clock.monotonicMs());
      return;
    }
    this.#passPending(version);
  }

  /** Forgets what was passed, what is pending and the versions so far (the worker's history was reset). */
  reset(): void {
    this.#forget();
    this.#reached = undefined;
    this.#highest = undefined;
  }

  #forget(): void {
    this.#passedSentAtMs = longAgo;
    this.#pending = [];
    this.#epoch += 1;
  }

  /** True when a barrier sent after `fromMs` has been passed or is on its way. */
  #isCovered(fromMs: MonotonicMs): boolean {
    return (
      this.#passedSentAtMs > fromMs ||
      (this.#inFlightSentAtMs ?? longAgo) > fromMs ||
      this.#pending.some(({ sentAtMs }) => sentAtMs > fromMs)
    );
  }

  #passPending(version: ResourceVersion): void {
    let passed: MonotonicMs = longAgo;
    this.#pending = this.#pending.filter((barrier) => {
      if (compareResourceVersions(version, barrier.version) < 0) return true;
      if (barrier.sentAtMs > passed) passed = barrier.sentAtMs;
      return false;
    });
    this.#pass(passed);
  }

  #pass(sentAtMs: MonotonicMs): void {
    if (sentAtMs <= this.#passedSentAtMs) return;
    this.#passedSentAtMs = sentAtMs;
    this.#options.onPassed();
  }

  #schedule(): void {
    if (this.#wantedFromMs === undefined || this.#inFlightSentAtMs !== undefined) return;
    if (this.#signal === undefined || this.#signal.aborted) return;
    const nowMs = this.#options.clock.monotonicMs();
    // A millisecond later than asked for, so that "sent after" holds on a clock that stands still between two calls.
    const dueMs = Math.max(this.#wantedFromMs + 1, this.#lastSentAtMs + spacingMs);
    this.#timer?.cancel();
    this.#timer = this.#options.clock.setTimer(Math.max(0, dueMs - nowMs), () => void this.#send());
  }

  async #send(): Promise<void> {
    const signal = this.#signal;
    const wantedFromMs = this.#wantedFromMs;
    if (signal === undefined || signal.aborted || wantedFromMs === undefined) return;
    this.#wantedFromMs = undefined;
    if (this.#isCovered(wantedFromMs)) return;
    const sentAtMs = this.#options.clock.monotonicMs();
    this.#inFlightSentAtMs = sentAtMs;
    this.#lastSentAtMs = sentAtMs;
    try {
      await this.#list(sentAtMs, signal);
    } catch (error) {
      // Even if the leadership has ended: the next term sends it.
      if (this.#wantedFromMs === undefined || wantedFromMs < this.#wantedFromMs) this.#wantedFromMs = wantedFromMs;
      if (signal.aborted) return;
      if (this.#outage.failed(errorLabel(error))) this.#options.onError(error);
      this.#lastSentAtMs = later(this.#options.clock.monotonicMs(), retryMs - spacingMs);
    } finally {
      this.#inFlightSentAtMs = undefined;
      this.#schedule();
    }
  }

  async #list(sentAtMs: MonotonicMs, signal: AbortSignal): Promise<void> {
    const epoch = this.#epoch;
    const before = this.#highest;
    const version = await this.#options.list(signal);
    const over = this.#outage.ended();
    if (over !== undefined) this.#options.onErrorsOver(over);
    // Everything was forgotten meanwhile; callers have asked again since.
    if (epoch !== this.#epoch) return;
    if (before !== undefined && compareResourceVersions(version, before) < 0) {
      this.#options.onHistoryReset({ barrier: version, snapshot: before });
      return;
    }
    if (this.#pending.length >= pendingMax) this.#pending.pop();
    this.#pending.push({ sentAtMs, version });
    if (this.#reached !== undefined) this.#passPending(this.#reached);
    if (this.#pending.length > 0) this.#options.onWaiting();
  }
}

/** A watch whose progress can be proven. */
export type ProvableWatch = Pick<BarrierTracker, "passedSentAtMs" | "waitingSinceMs" | "want" | "relist">;

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
  /** Barriers that were sent until then may be older than they look. */
  #distrustedUntilMs: MonotonicMs = longAgo;
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
      this.#watch.want(nowMs);
    }
    const sinceMs = this.#watch.waitingSinceMs;
    if (sinceMs === undefined || nowMs < later(sinceMs, this.#patienceMs)) return;
    if (nowMs < later(this.#relistedAtMs, this.#times.relistSpacingMs)) return;
    this.#relistedAtMs = nowMs;
    this.#patienceMs = this.#drawPatience();
    this.#watch.relist();
  }

  /** Whether the watch has passed a barrier that was sent within the last `withinMs`. */
  isProven(nowMs: MonotonicMs, withinMs: number): boolean {
    if (this.#watch.passedSentAtMs <= this.#distrustedUntilMs) return false;
    return nowMs <= later(this.#watch.passedSentAtMs, withinMs);
  }

  /** The clock may have stood still: only barriers that are sent from now on prove anything. */
  distrust(nowMs: MonotonicMs): void {
    this.#distrustedUntilMs = nowMs;
    this.#askedAtMs = longAgo;
  }

  #drawPatience(): number {
    return this.#times.relistMs * uniform(this.#rng, 1, 1 + patienceJitter);
  }
}
