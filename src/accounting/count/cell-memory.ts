/**
 * What an aggregator remembers of its own writes to one PodProtector (docs/accounting.md#first-counts,
 * docs/accounting.md#restores). It is lost on a restart, which makes counts late, never wrong.
 */
import { type MicroTime } from "../../api/micro-time.ts";
import { compareResourceVersions, type ResourceVersion } from "../../api/resource-version.ts";
import { type Aggregation } from "../../api/v1alpha1/pod-protector.ts";
import { type MonotonicMs } from "../../util/clock.ts";
import { type PodCounts } from "./pod-counts.ts";
import { type RecountMarks } from "./recount-mark.ts";

/** Counts of this program: none is left out. */
export type OwnAggregation = Aggregation & PodCounts;

export class CellMemory {
  readonly #marks: RecountMarks;
  #written: OwnAggregation | undefined;
  #firstCounts: { readonly spec: string; readonly over: string; readonly sinceMs: MonotonicMs } | undefined;
  #restoredSinceMs: MonotonicMs | undefined;
  #remadeSinceMs: MonotonicMs | undefined;
  /** A recorded version of a worker history that no longer exists. */
  #obsoleteVersion: ResourceVersion | undefined;
  /** What is recorded comes from another cluster, until our first accepted write. */
  #isTakenOver = false;
  /** Of our last write that carried one. A reset of the worker does not end it. */
  #lastMark: MicroTime | undefined;

  constructor(marks: RecountMarks) {
    this.#marks = marks;
  }

  /**
   * The recorded aggregation as it has to be read:
   * - When a Go component's write dropped the extensions from exactly the counts that we wrote, they are restored.
   * - When its version belongs to a former worker history, or to another cluster, it is left out.
   */
  effective(recorded: Aggregation | undefined): Aggregation | undefined {
    if (recorded === undefined) return undefined;
    const isObsolete = this.#isTakenOver || recorded.resourceVersion === this.#obsoleteVersion;
    if (recorded.resourceVersion !== undefined && isObsolete) {
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
    this.#lastMark = aggregation.recountedAt ?? this.#lastMark;
    this.#firstCounts = undefined;
    this.#restoredSinceMs = undefined;
    this.#obsoleteVersion = undefined;
    this.#isTakenOver = false;
  }

  /**
   * The cell was another cluster's: its versions are not comparable with ours, and the next counts are first counts and
   * a recount.
   */
  takenOver(): void {
    this.#isTakenOver = true;
    this.#written = undefined;
    this.#firstCounts = undefined;
  }

  /**
   * Another PodProtector had the name before, and vanished without having been released: what was admitted on it can
   * still commit, and no history says so. First counts wait for that (docs/accounting.md#re-made-objects). `sinceMs`:
   * nothing was admitted on it later.
   */
  remade(sinceMs: MonotonicMs): void {
    this.#remadeSinceMs = sinceMs;
  }

  get remadeSinceMs(): MonotonicMs | undefined {
    return this.#remadeSinceMs;
  }

  get isTakenOver(): boolean {
    return this.#isTakenOver;
  }

  /**
   * Looks at a state that is certainly newer than our last write (a live GET, or an event above it). Returns true when
   * its recorded version is below what we wrote and not that of a recount: the core was restored.
   */
  checkRestored(recorded: Aggregation | undefined, nowMs: MonotonicMs): boolean {
    const own = this.#written?.resourceVersion;
    const theirs = recorded?.resourceVersion;
    if (own === undefined || theirs === undefined || compareResourceVersions(theirs, own) >= 0) return false;
    if (this.#marks.isRecountedSince(this.#written, recorded)) return false;
    this.restored(nowMs);
    return true;
  }

  /** The mark of a recount over this recorded state: later than its mark, and than our own last one. */
  nextMark(recorded: Aggregation | undefined): MicroTime {
    return this.#marks.next([recorded?.recountedAt, this.#lastMark]);
  }

  /**
   * The core was restored. Counts are written again only after a settle window and a barrier, and then unconditionally.
   */
  restored(nowMs: MonotonicMs): void {
    this.#restoredSinceMs ??= nowMs;
  }

  get restoredSinceMs(): MonotonicMs | undefined {
    return this.#restoredSinceMs;
  }

  /** The worker's history was reset: versions up to now are meaningless, and the next counts are first counts. */
  workerReset(recorded: Aggregation | undefined): void {
    this.#obsoleteVersion = recorded?.resourceVersion;
    this.#written = undefined;
    this.#firstCounts = undefined;
  }

  /**
   * Since when first counts of this spec have been wanted over this recorded state. When other counts are recorded,
   * another aggregator has written meanwhile, and the snapshot has to be newer than that, too.
   */
  firstCountsSince(countedSpec: string, nowMs: MonotonicMs, recorded?: Aggregation): MonotonicMs {
    const over = recorded === undefined ? "" : JSON.stringify(recorded);
    this.firstCountsOnlyOf(countedSpec);
    if (this.#firstCounts?.over !== over) this.#firstCounts = { spec: countedSpec, over, sinceMs: nowMs };
    return this.#firstCounts.sinceMs;
  }

  /**
   * The spec is this one now. First counts of another one are no longer wanted, and when that is wanted again the wait
   * begins anew: what it does not count was not recorded meanwhile.
   */
  firstCountsOnlyOf(countedSpec: string): void {
    if (this.#firstCounts?.spec !== countedSpec) this.#firstCounts = undefined;
  }

  firstCountsDone(): void {
    this.#firstCounts = undefined;
  }
}

/**
 * True when `recorded` is `own` without the extension fields. Equal counts with another event time come from another
 * aggregator.
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
