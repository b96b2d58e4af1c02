/**
 * When this aggregator first saw each bucket of one cell of one PodProtector, on its own monotonic clock
 * (docs/accounting.md#settlement). A wait starts again:
 * - when startTime of a single bucket changes, or the version that it is tied to,
 * - when a pod moves between a single and a packed bucket,
 * - after a restart of the process,
 * - for packed and anonymous pods, after a gap in the watch of PodProtectors. Unseen, a packed pod may have been taken
 *   out, admitted again and packed again, and an anonymous one may have been replaced by another.
 */
import { type Bucket } from "../../api/v1alpha1/pod-protector.ts";
import { later, type MonotonicMs } from "../../util/clock.ts";
import { assert } from "../../util/assert.ts";
import { bucketKind } from "../history/bucket.ts";
import { digestOfUID } from "../history/uid-digest.ts";

export interface Seen {
  /** First seen in its present form. */
  sinceMs: MonotonicMs;
  /** Since when the snapshot has been at or above the bucket's version; set by `comparableSinceMs`. */
  comparableSinceMs?: MonotonicMs;
  /**
   * Of a single bucket: whether the pod was reviewed again while it held one. Absent for a packed pod: a repeated
   * review takes it out of the pack.
   */
  readonly isRefreshed?: boolean;
}

interface SingleSeen extends Seen {
  readonly startTime: string;
  readonly version: string | undefined;
  readonly isRefreshed: boolean;
}

/** The number of anonymous admissions from this moment to the next sample. */
interface Sample {
  readonly atMs: MonotonicMs;
  count: number;
}

/**
 * Most samples of the anonymous number. Beyond it the two oldest become one, with the smaller count at the later time,
 * which only makes settlement later. Go webhooks write an object at most a few times a second, so 1,024 covers a settle
 * window.
 */
const samplesMax = 1024;

export class FirstSeen {
  /** By pod UID. Undefined = there are none, as of most PodProtectors, of which a core has thousands. */
  #singles: Map<string, SingleSeen> | undefined;
  /** By digest, likewise. */
  #packed: Map<string, Seen> | undefined;
  #samples: Sample[] = [];
  #observed: readonly Bucket[] = [];

  /**
   * Takes note of the cell's buckets. Call it for every version of the object that the watch delivers.
   * @param isContinuous false after a relist: versions of the object may have been missed
   */
  observe(buckets: readonly Bucket[], nowMs: MonotonicMs, isContinuous: boolean): void {
    const singles = new Map<string, SingleSeen>();
    const packed = new Map<string, Seen>();
    let anonymous = 0;
    for (const bucket of buckets) {
      const kind = bucketKind(bucket);
      if (kind.kind === "single") {
        const before = this.#singles?.get(kind.podUID);
        const unchanged = before?.startTime === bucket.startTime && before.version === kind.version;
        singles.set(
          kind.podUID,
          unchanged
            ? before
            : {
                sinceMs: nowMs,
                startTime: bucket.startTime,
                version: kind.version,
                isRefreshed: before !== undefined || this.#isPacked(kind.podUID),
              },
        );
      } else if (kind.kind === "packed") {
        for (const digest of kind.digests.list()) {
          packed.set(digest, (isContinuous ? this.#packed?.get(digest) : undefined) ?? { sinceMs: nowMs });
        }
      } else {
        anonymous += kind.counter;
      }
    }
    this.#singles = singles.size > 0 ? singles : undefined;
    this.#packed = packed.size > 0 ? packed : undefined;
    this.#observed = buckets;
    if (!isContinuous) this.#samples = [];
    this.#observeAnonymous(anonymous, nowMs);
  }

  /** Whether this very list was observed last. */
  hasObserved(buckets: readonly Bucket[]): boolean {
    return buckets === this.#observed || (buckets.length === 0 && this.#observed.length === 0);
  }

  /** Starts all waits again (the worker's history was reset). */
  restart(nowMs: MonotonicMs): void {
    this.#singles?.forEach(({ startTime, version, isRefreshed }, podUID, singles) =>
      singles.set(podUID, { sinceMs: nowMs, startTime, version, isRefreshed }),
    );
    this.#packed?.forEach((_, digest, packed) => packed.set(digest, { sinceMs: nowMs }));
    const count = this.anonymousCount();
    this.#samples = count === 0 ? [] : [{ atMs: nowMs, count }];
  }

  single(podUID: string): Seen {
    return this.#singles?.get(podUID) ?? unseen;
  }

  packed(digest: string): Seen {
    return this.#packed?.get(digest) ?? unseen;
  }

  /** Since when the snapshot could be compared with this bucket; the first call sets it to now. */
  comparableSinceMs(seen: Seen, nowMs: MonotonicMs): MonotonicMs {
    if (seen === unseen) return nowMs;
    seen.comparableSinceMs ??= nowMs;
    return seen.comparableSinceMs;
  }

  anonymousCount(): number {
    return this.#samples.at(-1)?.count ?? 0;
  }

  /** When the oldest of the present anonymous admissions was seen; undefined when there are none. */
  anonymousSinceMs(): MonotonicMs | undefined {
    return this.anonymousCount() === 0 ? undefined : this.#samples[0]?.atMs;
  }

  /** The smallest number at any moment from `fromMs` until now; 0 when the number was not yet known at `fromMs`. */
  anonymousMinimumSince(fromMs: MonotonicMs): number {
    const first = this.#samples[0];
    if (first === undefined || first.atMs > fromMs) return 0;
    let minimum = this.anonymousCount();
    for (const sample of this.#samples.toReversed()) {
      minimum = Math.min(minimum, sample.count);
      if (sample.atMs <= fromMs) break;
    }
    return minimum;
  }

  /**
   * The earliest moment at which a barrier may be sent that settles more than one sent at `barrierSentAtMs` did. There
   * must be anonymous admissions.
   */
  anonymousRipeAtMs(settleWindowMs: number, barrierSentAtMs: MonotonicMs): MonotonicMs {
    const next = this.#samples.find((sample) => sample.atMs + settleWindowMs > barrierSentAtMs) ?? this.#samples.at(-1);
    assert(next !== undefined, "there are anonymous admissions");
    return later(next.atMs, settleWindowMs);
  }

  /** Only a repeated review takes a pod out of a packed bucket. */
  #isPacked(podUID: string): boolean {
    return this.#packed !== undefined && this.#packed.has(digestOfUID(podUID));
  }

  #observeAnonymous(count: number, nowMs: MonotonicMs): void {
    const before = this.anonymousCount();
    if (count === before) return;
    if (count < before) {
      // What left was the oldest part (only this cell's aggregator removes any), so it is taken out of the past as
      // well; otherwise the newer part that stays would look as old as the part that went.
      const left = before - count;
      for (const sample of this.#samples) sample.count = Math.max(0, sample.count - left);
    }
    this.#samples.push({ atMs: nowMs, count });
    if (count === 0) this.#samples = [];
    else if (this.#samples.length > samplesMax) this.#mergeOldest();
  }

  #mergeOldest(): void {
    const [first, second] = this.#samples;
    if (first === undefined || second === undefined) return;
    this.#samples.splice(0, 2, { atMs: second.atMs, count: Math.min(first.count, second.count) });
  }
}

/** A bucket that was never observed has not waited at all. */
const unseen: Seen = Object.freeze({ sinceMs: Infinity as MonotonicMs });
