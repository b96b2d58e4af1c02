/**
 * What an aggregator remembers of its own writes to one PodProtector (design 2.4, 2.5). Lost on a restart, which makes
 * things later, never wrong.
 */
import { compareResourceVersions, type ResourceVersion } from "../../api/resource-version.ts";
import { type Aggregation } from "../../api/v1alpha1/pod-protector.ts";
import { type MonotonicMs } from "../../util/clock.ts";
import { type PodCounts } from "./pod-counts.ts";

/** Counts of ours: none of them is left out. */
export type OwnAggregation = Aggregation & PodCounts;

export class CellMemory {
  #written: OwnAggregation | undefined;
  #firstCounts: { readonly state: string; readonly sinceMs: MonotonicMs } | undefined;
  #restoredSinceMs: MonotonicMs | undefined;
  /** A recorded version of a worker history that no longer exists. */
  #obsoleteVersion: ResourceVersion | undefined;

  /**
   * The recorded aggregation as it has to be read: when a Go component's write stripped the extensions from exactly the
   * counts that we wrote, they are put back; when its version belongs to a former worker history, the version is taken
   * away.
   */
  effective(recorded: Aggregation | undefined): Aggregation | undefined {
    if (recorded === undefined) return undefined;
    if (recorded.resourceVersion !== undefined && recorded.resourceVersion === this.#obsoleteVersion) {
      const { resourceVersion: _, ...rest } = recorded;
      return rest;
    }
    const own = this.#written;
    if (recorded.resourceVersion === undefined && own !== undefined && isStrippedFrom(recorded, own)) {
      return { ...own, ...recorded };
    }
    return recorded;
  }

  /** Our write was accepted. */
  wrote(aggregation: OwnAggregation): void {
    this.#written = aggregation;
    this.#firstCounts = undefined;
    this.#restoredSinceMs = undefined;
    this.#obsoleteVersion = undefined;
  }

  /**
   * Looks at a state that is certainly newer than our last write (a live GET, or an event above it). When its recorded
   * version is below what we wrote, the core was restored from an older state, or another aggregator has recounted.
   */
  checkRestored(recorded: Aggregation | undefined, nowMs: MonotonicMs): boolean {
    const own = this.#written?.resourceVersion;
    const theirs = recorded?.resourceVersion;
    if (own === undefined || theirs === undefined || compareResourceVersions(theirs, own) >= 0) return false;
    if (isRecountedSince(this.#written, recorded)) return false;
    this.restored(nowMs);
    return true;
  }

  /**
   * The core was restored: counts are written again only after a settle window and a barrier, and then unconditionally.
   */
  restored(nowMs: MonotonicMs): void {
    this.#restoredSinceMs ??= nowMs;
  }

  get restoredSinceMs(): MonotonicMs | undefined {
    return this.#restoredSinceMs;
  }

  /** The worker's history was reset: versions up to now mean nothing any more, and the next counts are first counts. */
  workerReset(recorded: Aggregation | undefined): void {
    this.#obsoleteVersion = recorded?.resourceVersion;
    this.#written = undefined;
    this.#firstCounts = undefined;
  }

  /**
   * Since when first counts of this spec have been wanted over this recorded state. Other counts mean that another
   * aggregator wrote meanwhile, and the snapshot has to be newer than that as well.
   */
  firstCountsSince(countedSpec: string, nowMs: MonotonicMs, recorded?: Aggregation): MonotonicMs {
    const state = JSON.stringify([countedSpec, recorded]);
    if (this.#firstCounts?.state !== state) this.#firstCounts = { state, sinceMs: nowMs };
    return this.#firstCounts.sinceMs;
  }

  firstCountsDone(): void {
    this.#firstCounts = undefined;
  }
}

/**
 * True when `recorded` is `own` without the extension fields. Equal counts at another event time are another
 * aggregator's.
 */
function isStrippedFrom(recorded: Aggregation, own: OwnAggregation): boolean {
  return (
    recorded.totalReplicas === own.totalReplicas &&
    recorded.availableReplicas === own.availableReplicas &&
    (recorded.readyReplicas ?? 0) === own.readyReplicas &&
    (recorded.scheduledReplicas ?? 0) === own.scheduledReplicas &&
    (recorded.runningReplicas ?? 0) === own.runningReplicas &&
    recorded.lastEventTime === own.lastEventTime
  );
}

/**
 * Whether `aggregation` comes from a recount that `known` did not come from
 * (docs/decisions/0004-recount-mark.md). After a restore of the core, or a reset of a worker's history, counts are
 * written whatever version is recorded. Such a recount carries a mark (`recountedAt`), which tells it from a state that
 * a backup brought back. Later writes keep the mark.
 *
 * Recounts of one cell are minutes apart and nearly always by one aggregator, so their times order them. One that a
 * clock puts before the last is overlooked, which is late but safe.
 */
export function isRecountedSince(known: Aggregation | undefined, aggregation: Aggregation | undefined): boolean {
  const mark = aggregation?.recountedAt;
  const knownMark = known?.recountedAt;
  return mark !== undefined && (knownMark === undefined || mark > knownMark);
}
