/**
 * LIST barriers (design 2.1): a LIST with resourceVersion unset returns a version R, and everything committed before it was sent is at or
 * below R. Once the watch has delivered R, the snapshot includes all of that. A barrier that comes back below what the watch had delivered
 * before it was sent means that the worker's history was reset.
 */
import { compareResourceVersions, type ResourceVersion } from "../api/resource-version.ts";
import { type Clock, type Timer } from "../util/clock.ts";

export interface BarrierOptions {
  readonly clock: Clock;
  /** Sends the LIST. Rejects with a KubeError. */
  readonly list: (signal: AbortSignal) => Promise<ResourceVersion>;
  /** The version that the snapshot has reached. */
  readonly version: () => ResourceVersion | undefined;
  /** The snapshot has passed a newer barrier. */
  readonly onPassed: () => void;
  /** A LIST has returned and the watch is not there yet: a good moment to make an event. */
  readonly onWaiting: () => void;
  readonly onHistoryReset: (details: { readonly barrier: ResourceVersion; readonly snapshot: ResourceVersion }) => void;
  readonly onError: (error: unknown) => void;
}

/** Least time between two LISTs: many buckets share a barrier, and one a second is the pace of aggregation. */
const spacingMs = 1000;
/** After a failed LIST. */
const retryMs = 2000;
/** LISTs whose version the watch has not reached yet; the oldest is dropped, since a newer one says more. */
const pendingMax = 8;

export class BarrierTracker {
  readonly #options: BarrierOptions;
  #passedSentAtMs = -Infinity;
  #pending: { readonly sentAtMs: number; readonly version: ResourceVersion }[] = [];
  #wantedFromMs: number | undefined;
  #timer: Timer | undefined;
  #inFlight = false;
  #lastSentAtMs = -Infinity;
  #signal: AbortSignal | undefined;

  constructor(options: BarrierOptions) {
    this.#options = options;
  }

  /** Sends LISTs until the signal aborts; wishes from before are served now. */
  start(signal: AbortSignal): void {
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#timer?.cancel(), { once: true });
    this.#schedule();
  }

  /** When the newest passed barrier was sent; -Infinity when none was passed. */
  get passedSentAtMs(): number {
    return this.#passedSentAtMs;
  }

  /** A consistent (re)list of the informer, sent at `sentAtMs`, has been applied: it is a barrier by itself. */
  listed(sentAtMs: number): void {
    this.#pass(sentAtMs);
  }

  /** Asks for a barrier that is sent at or after `fromMs`, a moment of the monotonic clock that may lie ahead. */
  want(fromMs: number): void {
    if (this.#passedSentAtMs > fromMs || this.#pending.some(({ sentAtMs }) => sentAtMs > fromMs)) return;
    if (this.#wantedFromMs !== undefined && this.#wantedFromMs <= fromMs) return;
    this.#wantedFromMs = fromMs;
    this.#schedule();
  }

  /** The snapshot has moved to `version`. */
  progress(version: ResourceVersion): void {
    let passed: number | undefined;
    this.#pending = this.#pending.filter((barrier) => {
      if (compareResourceVersions(version, barrier.version) < 0) return true;
      passed = Math.max(passed ?? -Infinity, barrier.sentAtMs);
      return false;
    });
    if (passed !== undefined) this.#pass(passed);
  }

  /** Forgets what was passed and what is pending (the worker's history was reset). */
  reset(): void {
    this.#passedSentAtMs = -Infinity;
    this.#pending = [];
  }

  #pass(sentAtMs: number): void {
    if (sentAtMs <= this.#passedSentAtMs) return;
    this.#passedSentAtMs = sentAtMs;
    this.#options.onPassed();
  }

  #schedule(): void {
    if (this.#wantedFromMs === undefined || this.#inFlight || this.#signal === undefined || this.#signal.aborted)
      return;
    const nowMs = this.#options.clock.monotonicMs();
    // A millisecond later than wished, so that "sent after" holds on a clock that stands still between two calls.
    const dueMs = Math.max(this.#wantedFromMs + 1, this.#lastSentAtMs + spacingMs);
    this.#timer?.cancel();
    this.#timer = this.#options.clock.setTimer(Math.max(0, dueMs - nowMs), () => void this.#send());
  }

  async #send(): Promise<void> {
    const signal = this.#signal;
    if (signal === undefined || signal.aborted || this.#inFlight) return;
    this.#inFlight = true;
    const wantedFromMs = this.#wantedFromMs;
    this.#wantedFromMs = undefined;
    const sentAtMs = this.#options.clock.monotonicMs();
    const before = this.#options.version();
    this.#lastSentAtMs = sentAtMs;
    try {
      const version = await this.#options.list(signal);
      if (before !== undefined && compareResourceVersions(version, before) < 0) {
        this.#options.onHistoryReset({ barrier: version, snapshot: before });
        return;
      }
      this.#pending.push({ sentAtMs, version });
      if (this.#pending.length > pendingMax) this.#pending.shift();
      const reached = this.#options.version();
      if (reached !== undefined) this.progress(reached);
      if (this.#pending.length > 0) this.#options.onWaiting();
    } catch (error) {
      if (signal.aborted) return;
      this.#options.onError(error);
      this.#lastSentAtMs = this.#options.clock.monotonicMs() + retryMs - spacingMs;
      this.#wantedFromMs = Math.min(this.#wantedFromMs ?? Infinity, wantedFromMs ?? Infinity);
    } finally {
      this.#inFlight = false;
      this.#schedule();
    }
  }
}
