/**
 * The fences of a cell's pods (docs/accounting.md#fences). A fence is a patch that moves a pod to a new version. A
 * DELETE that was admitted at an older version can then no longer commit: the API server reviews it again. This file
 * remembers fences and decides when to send one; src/aggregator/fencer.ts sends it.
 *
 * One entry per pod UID, for all PodProtectors. The distance between two fences of a pod doubles from the fence delay
 * up to the settle window: a deletion that another policy refuses forever must not become a patch every ten seconds.
 */
import { type ResourceVersion } from "../../api/resource-version.ts";
import { later, longAgo, type MonotonicMs } from "../../util/clock.ts";

export interface Fence {
  readonly sentAtMs: MonotonicMs;
  /** The version that the API server returned. */
  readonly version: ResourceVersion;
}

interface Entry {
  lastUsedMs: MonotonicMs;
  /** Not sent again before this moment. */
  notBeforeMs: MonotonicMs;
  repeatMs: number;
  isInFlight: boolean;
  isForbidden: boolean;
  fence: Fence | undefined;
}

/**
 * Most entries; each takes about 200 bytes. 50 PodProtectors with full histories have as many buckets. Beyond it,
 * further pods settle by the window.
 */
const entriesMax = 100_000;

export class FenceRegistry {
  readonly #entries = new Map<string, Entry>();
  readonly #repeatMinMs: number;
  readonly #repeatMaxMs: number;

  /** `settlementFenceDelayMs`: first wait before a pod is fenced again. `settleWindowMs`: longest such wait. */
  constructor(settlementFenceDelayMs: number, settleWindowMs: number) {
    this.#repeatMinMs = settlementFenceDelayMs;
    this.#repeatMaxMs = Math.max(settlementFenceDelayMs, settleWindowMs);
  }

  /** True when this pod cannot be fenced (403, or the registry is full), so that its buckets use the settle window. */
  isForbidden(podUID: string): boolean {
    const entry = this.#entries.get(podUID);
    return entry === undefined ? this.#entries.size >= entriesMax : entry.isForbidden;
  }

  /** The newest fence whose patch was answered. */
  fenceOf(podUID: string): Fence | undefined {
    return this.#entries.get(podUID)?.fence;
  }

  /**
   * When the pod may be fenced (again), which may be in the past. Undefined while a patch is in flight, and when
   * fencing the pod is forbidden.
   */
  nextSendMs(podUID: string): MonotonicMs | undefined {
    const entry = this.#entries.get(podUID);
    if (entry === undefined) return longAgo;
    return entry.isInFlight || entry.isForbidden ? undefined : entry.notBeforeMs;
  }

  /** Marks a patch as being sent now. Call exactly one of `answered`, `failed`, `refused` afterwards. */
  sending(podUID: string, nowMs: MonotonicMs): void {
    const entry = this.#entries.get(podUID) ?? {
      lastUsedMs: nowMs,
      notBeforeMs: nowMs,
      repeatMs: this.#repeatMinMs,
      isInFlight: false,
      isForbidden: false,
      fence: undefined,
    };
    entry.isInFlight = true;
    entry.lastUsedMs = nowMs;
    entry.notBeforeMs = later(nowMs, entry.repeatMs);
    entry.repeatMs = Math.min(entry.repeatMs * 2, this.#repeatMaxMs);
    this.#entries.set(podUID, entry);
  }

  /** The patch that was sent at `sentAtMs` returned the pod at `version`. */
  answered(podUID: string, sentAtMs: MonotonicMs, version: ResourceVersion): void {
    const entry = this.#entries.get(podUID);
    if (entry === undefined) return;
    entry.isInFlight = false;
    if (entry.fence === undefined || entry.fence.sentAtMs < sentAtMs) entry.fence = { sentAtMs, version };
  }

  /**
   * No valid answer: lost, 5xx, or 404/422 (the pod was replaced, which the snapshot will show). It proves nothing.
   */
  failed(podUID: string): void {
    const entry = this.#entries.get(podUID);
    if (entry !== undefined) entry.isInFlight = false;
  }

  /** 403: we may not fence this pod. */
  refused(podUID: string): void {
    const entry = this.#entries.get(podUID);
    if (entry === undefined) return;
    entry.isInFlight = false;
    entry.isForbidden = true;
  }

  /** Forgets pods that were not fenced for `idleMs`, forbidden ones included. To be called from time to time. */
  prune(nowMs: MonotonicMs, idleMs: number): void {
    for (const [podUID, entry] of this.#entries) {
      if (!entry.isInFlight && nowMs - entry.lastUsedMs > idleMs) this.#entries.delete(podUID);
    }
  }

  get size(): number {
    return this.#entries.size;
  }
}
