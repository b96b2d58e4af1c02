/**
 * Ends what goes on without what others have promised: a WatchList without its end mark, a watch without bookmarks or
 * beyond its time, a list whose pages have no end (docs/kubernetes.md#who-ends-what). The transport's own limits see
 * bytes, and a proxy can send these for ever.
 */
import { type Clock, later, longAgo, type MonotonicMs, type Timer } from "../../util/clock.ts";

/** A list over a slow link is one in pages, each with a time of its own, long before it would be complete here. */
const endMarkMs = 60_000;
/**
 * As long after the first change, which comes behind all initial objects, or without any frame. Also how long a watch
 * must have been open to have brought nothing: a server that breaks off what it accepts is only in trouble.
 */
export const pauseMs = 15_000;
/**
 * kube-apiserver sends a bookmark about once a minute: two missing ones and half a minute of grace mean a dead
 * connection.
 */
export const idleTimeoutMs = 150_000;
/** Of a watch that goes on from one that failed or was silent: one bookmark, and half a minute of grace. */
const resumedIdleMs = 90_000;
/** The server may end a watch late, or the way to us be slow. Nothing else ends one in which events go on. */
const watchGraceMs = 30_000;
/**
 * A server keeps the history that the pages come from for ten minutes at most, and ends a longer list by a 410. This is
 * for one that says "continue" for ever.
 */
const pagesMs = 900_000;

/** Which was over first: the whole time, that after a change, or that without a frame. */
type Exceeded = "total" | "change" | "silence";

const noEndMark: Readonly<Record<Exceeded, string>> = {
  total: `no end mark within ${endMarkMs / 1000} s`,
  change: `no end mark within ${pauseMs / 1000} s of the first change`,
  silence: `no end mark in ${pauseMs / 1000} s of silence`,
};

/** Of one phase. */
export class StreamLimit {
  readonly #clock: Clock;
  readonly #startedMs: MonotonicMs;
  readonly #onExceeded: () => void;
  /** One timer that looks again when it fires: setting it at each frame would cost more than the frame. */
  #timer: Timer | undefined;
  #untilMs: MonotonicMs = longAgo;
  #until: Exceeded = "total";
  #silenceMs = 0;
  #heardAtMs: MonotonicMs = longAgo;
  #exceeded: Exceeded | undefined;

  /** The phase starts now. `onExceeded` is called once at most; nothing is limited before one of the methods is. */
  constructor(clock: Clock, onExceeded: () => void) {
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
    this.#onExceeded = onExceeded;
  }

  /** A list in pages. */
  pages(): void {
    this.#allow(pagesMs);
  }

  /** A WatchList was answered, whose end mark is to come. */
  endMark(): void {
    this.#allow(endMarkMs, pauseMs);
  }

  /** A watch was answered, or goes on after the end mark. The server has promised to end it after `timeoutSeconds`. */
  watch(timeoutSeconds: number, isResumed: boolean): void {
    this.#allow(timeoutSeconds * 1000 + watchGraceMs, isResumed ? resumedIdleMs : idleTimeoutMs);
  }

  /** A frame has come. */
  heard(): void {
    this.#heardAtMs = this.#clock.monotonicMs();
  }

  /** Among the initial events a change has come. */
  changed(): void {
    const untilMs = later(this.#clock.monotonicMs(), pauseMs);
    if (this.#until === "change" || untilMs >= this.#untilMs) return;
    this.#untilMs = untilMs;
    this.#until = "change";
    this.#look();
  }

  /** What was over; undefined while nothing is. */
  get exceeded(): Exceeded | undefined {
    return this.#exceeded;
  }

  /** Why the end mark is not waited for any more, for people. */
  get missed(): string | undefined {
    return this.#exceeded === undefined ? undefined : noEndMark[this.#exceeded];
  }

  /** Milliseconds since the phase started. */
  elapsedMs(): number {
    return this.#clock.monotonicMs() - this.#startedMs;
  }

  /** Drops the timer. */
  clear(): void {
    this.#timer?.cancel();
  }

  #allow(totalMs: number, silenceMs = Number.POSITIVE_INFINITY): void {
    this.#untilMs = later(this.#startedMs, totalMs);
    this.#until = "total";
    this.#silenceMs = silenceMs;
    this.heard();
    this.#look();
  }

  #look(): void {
    this.#timer?.cancel();
    const silentMs = later(this.#heardAtMs, this.#silenceMs);
    const leftMs = Math.min(this.#untilMs, silentMs) - this.#clock.monotonicMs();
    if (leftMs > 0) {
      this.#timer = this.#clock.setTimer(leftMs, () => this.#look());
      return;
    }
    this.#exceeded = silentMs < this.#untilMs ? "silence" : this.#until;
    this.#onExceeded();
  }
}
