/**
 * The fences of a cell's pods (docs/accounting.md#fences). A fence is a patch that moves a pod to a new version. A
 * DELETE that was admitted at an older version can then no longer commit: the API server reviews it again. This file
 * remembers fences and decides when to send one; src/aggregator/counting/fencer.ts sends it.
 *
 * One entry per pod UID, for all PodProtectors. The distance between two fences of a pod doubles with each, up to the
 * settle window, however they are paced: a deletion that another policy refuses for ever must not become a patch every
 * ten seconds, and one that takes long must get through between two of them.
 */
import { type ResourceVersion } from "../../api/resource-version.ts";
import { later, longAgo, type MonotonicMs } from "../../util/clock.ts";

export interface Fence {
  readonly sentAtMs: MonotonicMs;
  /** The version that the API server returned. */
  readonly version: ResourceVersion;
}

/**
 * Why a patch made no fence:
 * - "refused": it was answered, and the answer is about the patch: 404, 409 and other 4xx, or a 5xx that names an
 *   admission webhook.
 * - "unanswered": no valid answer, or a 5xx or 429 that may come from a cluster in trouble.
 */
export type FenceFailure = "refused" | "unanswered";

/** The patches of a pod have failed without a break. */
export interface FailingFence {
  /** When the first of them was sent. */
  readonly sinceMs: MonotonicMs;
  /** When the first was sent of those since which each was refused; undefined = the last was not. */
  readonly refusedSinceMs: MonotonicMs | undefined;
  /** When the last of them was sent. */
  readonly lastSentAtMs: MonotonicMs;
}

/**
 * - "usual": the pod stays alive at an admitted version; the first distance is the fence delay.
 * - "early": its deletion is admitted again and again; the first distance is 2 s.
 */
export type FencePace = "usual" | "early";

interface Entry {
  lastSentMs: MonotonicMs;
  /** How often it was sent. */
  sends: number;
  isInFlight: boolean;
  isForbidden: boolean;
  fence: Fence | undefined;
  failing: FailingFence | undefined;
}

/** A write of ours to the worker that succeeded. */
interface OwnWrite {
  readonly sentAtMs: MonotonicMs;
  readonly answeredAtMs: MonotonicMs;
}

/**
 * Most entries; each takes about 200 bytes. 50 PodProtectors with full histories have as many buckets. Beyond it,
 * further pods settle by the window.
 */
const defaultPodsMax = 100_000;
/** A deletion that another webhook holds up for less than this gets through after the first early fence. */
const earlyDistanceMs = 2_000;
/** Remembered own writes, spaced over the settle window; those of the last two windows and more. */
const writesMax = 32;
const writesPerWindow = 10;

export class FenceRegistry {
  readonly #podsMax: number;
  readonly #entries = new Map<string, Entry>();
  readonly #firstDistanceMs: number;
  readonly #distanceMaxMs: number;
  readonly #writeSpacingMs: number;
  /** The newest one, and older ones that are a spacing apart. */
  readonly #writes: OwnWrite[] = [];

  /** `settlementFenceDelayMs`: first wait before a pod is fenced again. `settleWindowMs`: longest such wait. */
  constructor(settlementFenceDelayMs: number, settleWindowMs: number, podsMax = defaultPodsMax) {
    this.#podsMax = podsMax;
    this.#firstDistanceMs = settlementFenceDelayMs;
    this.#distanceMaxMs = Math.max(settlementFenceDelayMs, settleWindowMs);
    this.#writeSpacingMs = settleWindowMs / writesPerWindow;
  }

  /** True when this pod cannot be fenced (403, or the registry is full), so that its buckets use the settle window. */
  isForbidden(podUID: string): boolean {
    const entry = this.#entries.get(podUID);
    return entry === undefined ? this.#entries.size >= this.#podsMax : entry.isForbidden;
  }

  /** The newest fence whose patch was answered. */
  fenceOf(podUID: string): Fence | undefined {
    return this.#entries.get(podUID)?.fence;
  }

  /**
   * When the pod may be fenced (again), which may be in the past. Undefined while a patch is in flight, and when
   * fencing the pod is forbidden.
   */
  nextSendMs(podUID: string, pace: FencePace): MonotonicMs | undefined {
    const entry = this.#entries.get(podUID);
    if (entry === undefined) return longAgo;
    if (entry.isInFlight || entry.isForbidden) return undefined;
    const firstMs = pace === "early" ? Math.min(earlyDistanceMs, this.#firstDistanceMs) : this.#firstDistanceMs;
    return later(entry.lastSentMs, Math.min(firstMs * 2 ** Math.min(entry.sends - 1, 30), this.#distanceMaxMs));
  }

  /** Whether a fence of this pod was sent by that moment, and none since. Forgotten ones do not count. */
  wasSentBefore(podUID: string, atMs: MonotonicMs): boolean {
    const entry = this.#entries.get(podUID);
    return entry !== undefined && entry.lastSentMs <= atMs;
  }

  /** The patches of this pod that have failed since the last one that was answered. */
  failingOf(podUID: string): FailingFence | undefined {
    return this.#entries.get(podUID)?.failing;
  }

  /**
   * When a write of ours to the worker was answered that was sent after `fromMs`: the first one that is remembered, so
   * up to a tenth of a settle window late. Undefined when there was none.
   */
  ownWriteAfter(fromMs: MonotonicMs): MonotonicMs | undefined {
    return this.#writes.find(({ sentAtMs }) => sentAtMs > fromMs)?.answeredAtMs;
  }

  /** Any write of ours to the worker, sent at `sentAtMs`, was carried out and answered now. */
  wrote(sentAtMs: MonotonicMs, nowMs: MonotonicMs): void {
    const [before, last] = this.#writes.slice(-2);
    if (before !== undefined && last !== undefined && last.sentAtMs - before.sentAtMs < this.#writeSpacingMs)
      this.#writes.pop();
    this.#writes.push({ sentAtMs, answeredAtMs: nowMs });
    if (this.#writes.length > writesMax) this.#writes.shift();
  }

  /** Marks a patch as being sent now. Call exactly one of `answered`, `failed`, `refused`, `aborted` then. */
  sending(podUID: string, nowMs: MonotonicMs): void {
    const entry = this.#entries.get(podUID) ?? {
      lastSentMs: nowMs,
      sends: 0,
      isInFlight: false,
      isForbidden: false,
      fence: undefined,
      failing: undefined,
    };
    entry.isInFlight = true;
    entry.lastSentMs = nowMs;
    entry.sends += 1;
    this.#entries.set(podUID, entry);
  }

  /** The patch that was sent at `sentAtMs` returned the pod at `version`. */
  answered(podUID: string, sentAtMs: MonotonicMs, version: ResourceVersion): void {
    const entry = this.#entries.get(podUID);
    if (entry === undefined) return;
    entry.isInFlight = false;
    entry.failing = undefined;
    if (entry.fence === undefined || entry.fence.sentAtMs < sentAtMs) entry.fence = { sentAtMs, version };
  }

  /** The patch that was sent at `sentAtMs` made no fence, which proves nothing. It is tried again. */
  failed(podUID: string, sentAtMs: MonotonicMs, failure: FenceFailure): void {
    const entry = this.#entries.get(podUID);
    if (entry === undefined) return;
    entry.isInFlight = false;
    const { sinceMs, refusedSinceMs } = entry.failing ?? { sinceMs: sentAtMs, refusedSinceMs: undefined };
    const isRefused = failure === "refused";
    entry.failing = {
      sinceMs,
      refusedSinceMs: isRefused ? (refusedSinceMs ?? sentAtMs) : undefined,
      lastSentAtMs: sentAtMs,
    };
  }

  /** The patch was given up before it was answered, because the leadership has ended. */
  aborted(podUID: string): void {
    const entry = this.#entries.get(podUID);
    if (entry !== undefined) entry.isInFlight = false;
  }

  /** We may not fence this pod (403), or its fence can have no effect. */
  refused(podUID: string): void {
    const entry = this.#entries.get(podUID);
    if (entry === undefined) return;
    entry.isInFlight = false;
    entry.isForbidden = true;
  }

  /** Forgets pods that were not fenced for `idleMs`, forbidden ones included. To be called from time to time. */
  prune(nowMs: MonotonicMs, idleMs: number): void {
    for (const [podUID, entry] of this.#entries) {
      if (!entry.isInFlight && nowMs - entry.lastSentMs > idleMs) this.#entries.delete(podUID);
    }
  }

  get size(): number {
    return this.#entries.size;
  }
}
