/**
 * All that the aggregator of a cell remembers of one PodProtector. It is lost on a restart, which makes things later,
 * never wrong.
 *
 * | remembered | until |
 * |---|---|
 * | the newest of {watch, own last write, live GET}: the base of the next write | a newer one, or a restored core |
 * | since when each bucket has been seen (settle/first-seen.ts) | the bucket changes, or the snapshot proves less |
 * | what we wrote last | the worker's history is reset, or the cell was another cluster's |
 * | what first counts wait for (first-counts.ts) | our write, or counts that need none |
 * | since when the list of foreign owners is the present one (foreign-owners.ts) | another list, or a gap |
 * | that the core was restored (docs/accounting.md#restores) | our write |
 * | that what is recorded is of a former history, or of another cluster | our write |
 * | that a former one vanished (docs/accounting.md#re-made-objects), the mark of our last recount | the end |
 * | since when the snapshot is behind what is recorded | another version is recorded |
 * | for the pace of counting: open admissions, our last write, a failure | the next one |
 *
 * Each method in the past participle tells of one event:
 * - from the core: `watched`, `relisted`, `readLive`, `sending`, `wrote`, `remade`, `broughtBack`;
 * - from the worker: `snapshotWentBack`, `workerReset`, `foundObsolete`, `takenOver`.
 */
import { type MicroTime } from "../../api/micro-time.ts";
import { type ObjectKey } from "../../api/object-key.ts";
import { compareResourceVersions, type ResourceVersion } from "../../api/resource-version.ts";
import { type Aggregation, type Bucket, type CellStatus, type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import { later, longAgo, type MonotonicMs } from "../../util/clock.ts";
import { FirstSeen } from "../settle/first-seen.ts";
import { countedSpec, CountedSpec } from "./counted-spec.ts";
import { FirstCounts } from "./first-counts.ts";
import { ForeignOwners } from "./foreign-owners.ts";
import { type PodCounts } from "./pod-counts.ts";
import { type RecountMarks } from "./recount-mark.ts";

/** Counts of this program: none is left out. */
export type OwnAggregation = Aggregation & PodCounts;

/** One version of the object, as informers keep it. */
export interface ProtectorVersion {
  readonly key: ObjectKey;
  readonly uid: string;
  readonly resourceVersion: ResourceVersion;
  readonly protector: PodProtector;
}

/** Shared by all PodProtectors. */
export interface MemoryScope {
  readonly cellID: string;
  readonly marks: RecountMarks;
  /** Of objects that were gone before this moment nothing is known: what was admitted on them can still commit. */
  readonly blindUntilMs: MonotonicMs;
}

export class ProtectorMemory {
  readonly firstSeen = new FirstSeen();
  readonly foreignOwners = new ForeignOwners();
  readonly #scope: MemoryScope;
  #newest: ProtectorVersion;
  #selectorText: string | undefined;
  #spec: { readonly selectorText: string; readonly minReadySeconds: number; readonly hash: string } | undefined;
  #needsLiveRead = false;
  #written: OwnAggregation | undefined;
  readonly #firstCounts: FirstCounts;
  #restoredSinceMs: MonotonicMs | undefined;
  /** A recorded version of a worker history that no longer exists. */
  #obsoleteVersion: ResourceVersion | undefined;
  /** What is recorded comes from another cluster. */
  #isTakenOver = false;
  /** Of our last write that carried one. A reset of the worker does not end it. */
  #lastMark: MicroTime | undefined;
  #behind: { readonly recorded: string | undefined; readonly sinceMs: MonotonicMs } | undefined;
  #hasOpen = false;
  #lastOpenAtMs: MonotonicMs = longAgo;
  #sentAtMs: MonotonicMs = longAgo;
  #isFailing = false;

  /** @param selectorText canonical text of the last valid counting selector; undefined = none, nothing is counted */
  constructor(first: ProtectorVersion, selectorText: string | undefined, scope: MemoryScope, nowMs: MonotonicMs) {
    this.#scope = scope;
    this.#newest = first;
    this.#selectorText = selectorText;
    this.#firstCounts = new FirstCounts(generationOf(first), nowMs);
    this.#observe(nowMs, false);
    this.#watchedCounts(nowMs);
  }

  get key(): ObjectKey {
    return this.#newest.key;
  }

  get uid(): string {
    return this.#newest.uid;
  }

  get newest(): ProtectorVersion {
    return this.#newest;
  }

  cell(): CellStatus | undefined {
    return this.#newest.protector.status?.cells.find(({ cellID }) => cellID === this.#scope.cellID);
  }

  /** The unsettled admissions of the cell. */
  buckets(): readonly Bucket[] {
    return this.cell()?.admissionHistory?.buckets ?? [];
  }

  /** What has to be counted now (docs/accounting.md#first-counts); undefined when no selector was ever valid. */
  countedSpec(): string | undefined {
    const selectorText = this.#selectorText;
    if (selectorText === undefined) return undefined;
    const { minReadySeconds } = this.#newest.protector.spec;
    // Asked for at each event of a pod.
    if (this.#spec?.selectorText !== selectorText || this.#spec.minReadySeconds !== minReadySeconds)
      this.#spec = { selectorText, minReadySeconds, hash: countedSpec(this.uid, selectorText, minReadySeconds) };
    return this.#spec.hash;
  }

  /** The same as a question to the counts of all cells. */
  question(): CountedSpec | undefined {
    if (this.#selectorText === undefined) return undefined;
    return new CountedSpec(this.uid, this.#selectorText, this.#newest.protector.spec.minReadySeconds);
  }

  /** False when no counting selector was ever valid. */
  get isCountable(): boolean {
    return this.#selectorText !== undefined;
  }

  /** Whether what has to be counted now was not: there are no counts, or they answer another spec. */
  get isUncounted(): boolean {
    const spec = this.countedSpec();
    const recorded = this.recorded();
    return spec !== undefined && (recorded?.resourceVersion === undefined || recorded.countedSpec !== spec);
  }

  /**
   * The recorded aggregation as it has to be read:
   * - When a Go component's write dropped the extensions from exactly the counts that we wrote, or the CRD drops some
   *   of them, they are restored.
   * - When its version belongs to a former worker history, or to another cluster, it is left out.
   */
  recorded(): Aggregation | undefined {
    const recorded = this.cell()?.aggregation;
    if (recorded === undefined) return undefined;
    const isObsolete = this.#isTakenOver || recorded.resourceVersion === this.#obsoleteVersion;
    if (recorded.resourceVersion !== undefined && isObsolete) {
      const { resourceVersion: _, ...rest } = recorded;
      return rest;
    }
    const own = this.#written;
    if (own === undefined) return recorded;
    const isStripped = recorded.resourceVersion === undefined && isStrippedFrom(recorded, own);
    if (isStripped || recorded.resourceVersion === own.resourceVersion) {
      return { ...own, ...recorded };
    }
    return recorded;
  }

  /** What is recorded comes from another cluster. */
  get isTakenOver(): boolean {
    return this.#isTakenOver;
  }

  /**
   * The core was restored. Counts are written again only after a settle window and a barrier, and then unconditionally.
   */
  get restoredSinceMs(): MonotonicMs | undefined {
    return this.#restoredSinceMs;
  }

  /** The mark of a recount over what is recorded: later than its mark, and than our own last one. */
  nextMark(): MicroTime {
    return this.#scope.marks.next([this.recorded()?.recountedAt, this.#lastMark]);
  }

  /** The generation that the next counts may carry; `barrierSentAtMs` as in Snapshot (first-counts.ts). */
  countedGeneration(barrierSentAtMs: MonotonicMs): number | undefined {
    return this.#firstCounts.generationOver(this.recorded(), barrierSentAtMs);
  }

  /**
   * After which moment a barrier must have been sent that the snapshot has passed; undefined where none is needed,
   * which ends the wait for first counts.
   */
  countableFromMs(settleWindowMs: number, nowMs: MonotonicMs): MonotonicMs | undefined {
    const sinceMs = this.isUncounted ? this.#wantFirstCounts(nowMs) : undefined;
    if (sinceMs === undefined) {
      this.#firstCounts.forget();
      return this.#firstCounts.outdatedFromMs(this.recorded());
    }
    const wasCounted = this.cell()?.aggregation?.countedSpec !== undefined;
    return this.#firstCounts.fromMs(sinceMs, wasCounted, this.#scope.blindUntilMs, settleWindowMs);
  }

  /** Since when the snapshot has been seen below the version that is recorded now; the first call says now. */
  behindSinceMs(nowMs: MonotonicMs): MonotonicMs {
    const recorded = this.cell()?.aggregation?.resourceVersion;
    if (this.#behind === undefined || this.#behind.recorded !== recorded) this.#behind = { recorded, sinceMs: nowMs };
    return this.#behind.sinceMs;
  }

  /** After a relist, which may hide that the core was restored: the object must be read live before the next write. */
  get needsLiveRead(): boolean {
    return this.#needsLiveRead;
  }

  /** Whether the cell has admissions that are not settled. */
  get hasOpen(): boolean {
    return this.#hasOpen;
  }

  /** Until when, at least, the cell had some; `longAgo` when none were seen. */
  get lastOpenAtMs(): MonotonicMs {
    return this.#lastOpenAtMs;
  }

  /** When our last write was sent, whatever came of it; `longAgo` when there was none. */
  get sentAtMs(): MonotonicMs {
    return this.#sentAtMs;
  }

  /** Whether the last aggregation failed, as the core took no read or no write. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  /** An aggregation has ended. A conflict is no failure. */
  aggregated(hasFailed: boolean): void {
    this.#isFailing = hasFailed;
  }

  /**
   * An event of the watch.
   * @param selectorText as for the constructor
   * @param wentBack its version is below the one that the watch had delivered before: the core was restored
   */
  watched(stored: ProtectorVersion, selectorText: string | undefined, wentBack: boolean, nowMs: MonotonicMs): void {
    this.#firstCounts.sawGeneration(generationOf(stored), selectorText === this.#selectorText, nowMs);
    this.#selectorText = selectorText;
    if (wentBack) {
      this.#restoredSinceMs ??= nowMs;
      this.#newest = stored;
      this.#observe(nowMs, false);
    } else if (compareResourceVersions(stored.resourceVersion, this.#newest.resourceVersion) > 0) {
      this.#newest = stored;
      this.#checkRestored(nowMs);
      this.#observe(nowMs, true);
    }
    this.#watchedCounts(nowMs);
  }

  /** The watch of PodProtectors was listed again: versions of the object may have been missed. */
  relisted(nowMs: MonotonicMs): void {
    this.#needsLiveRead = true;
    // Counts may have been written, used to settle, and undone unseen: only a future barrier is enough.
    this.#firstCounts.forget();
    this.#observe(nowMs, false);
  }

  /**
   * The answer of a live GET. It is not older than `knownVersion`, known before the GET was sent, so a lower version
   * means a restored core. The watch may have delivered newer versions while the answer was on its way; then the newest
   * one stays.
   */
  readLive(stored: ProtectorVersion, knownVersion: ResourceVersion, nowMs: MonotonicMs): void {
    const wentBack = compareResourceVersions(stored.resourceVersion, knownVersion) < 0;
    if (wentBack) this.#restoredSinceMs ??= nowMs;
    if (wentBack || compareResourceVersions(stored.resourceVersion, this.#newest.resourceVersion) > 0)
      this.#newest = stored;
    // As after a relist. But a cell that still has no counts needs no new barrier, or cells that start together would
    // hold each other up.
    if (this.cell()?.aggregation !== undefined) this.#firstCounts.forget();
    this.#checkRestored(nowMs);
    // Versions between the last event and this answer were not seen.
    this.#observe(nowMs, false);
    this.#needsLiveRead = false;
  }

  /** A write is sent. What happens from now on may not be in it. */
  sending(nowMs: MonotonicMs): void {
    this.#sentAtMs = nowMs;
  }

  /** Our write of `aggregation` was accepted as this object. The watch may have delivered it or newer ones before. */
  wrote(stored: ProtectorVersion, aggregation: OwnAggregation, nowMs: MonotonicMs): void {
    this.#written = aggregation;
    this.foreignOwners.wrote(aggregation, stored.protector, this.#scope.cellID);
    this.#lastMark = aggregation.recountedAt ?? this.#lastMark;
    this.#firstCounts.forget();
    this.#restoredSinceMs = undefined;
    this.#obsoleteVersion = undefined;
    this.#isTakenOver = false;
    if (compareResourceVersions(stored.resourceVersion, this.#newest.resourceVersion) <= 0) return;
    this.#newest = stored;
    // The write was a compare-and-swap on what had been observed, so nothing was missed in between.
    this.#observe(nowMs, true);
  }

  /**
   * Another PodProtector had the name before, and vanished without having been released: what was admitted on it can
   * still commit, and no history says so. First counts wait for that (docs/accounting.md#re-made-objects). `sinceMs`:
   * nothing was admitted on it later.
   */
  remade(sinceMs: MonotonicMs): void {
    this.#firstCounts.remade(sinceMs);
  }

  /** A restore of the core has brought it back: what is recorded lacks what has happened since the backup. */
  broughtBack(nowMs: MonotonicMs): void {
    this.#restoredSinceMs ??= nowMs;
  }

  /** The snapshot of pods is older than before: what was seen so far proves nothing, and all waits start again. */
  snapshotWentBack(nowMs: MonotonicMs): void {
    this.firstSeen.restart(nowMs);
  }

  /** The worker's history was reset; pods are listed again after this call. */
  workerReset(nowMs: MonotonicMs): void {
    this.foundObsolete(nowMs);
    // What is recorded was seen before pods are listed again, and that list is a barrier.
    this.#wantFirstCounts(later(nowMs, -1));
  }

  /**
   * What is recorded belongs to a former history of the worker; the snapshot is of the present one. Versions up to now
   * are meaningless, and the next counts are first counts.
   */
  foundObsolete(nowMs: MonotonicMs): void {
    this.#obsoleteVersion = this.cell()?.aggregation?.resourceVersion;
    this.#startAnew(nowMs);
  }

  /**
   * The cell was another cluster's (docs/aggregator.md#one-cell-one-cluster): its versions are not comparable with
   * ours, and the next counts are first counts and a recount.
   */
  takenOver(nowMs: MonotonicMs): void {
    this.#isTakenOver = true;
    this.#startAnew(nowMs);
    this.#wantFirstCounts(nowMs);
  }

  #startAnew(nowMs: MonotonicMs): void {
    this.#written = undefined;
    this.#firstCounts.forget();
    this.firstSeen.restart(nowMs);
  }

  /** Since when first counts of the present spec have been wanted over what is recorded. */
  #wantFirstCounts(nowMs: MonotonicMs): MonotonicMs | undefined {
    const spec = this.countedSpec();
    return spec === undefined ? undefined : this.#firstCounts.want(spec, this.cell()?.aggregation, nowMs);
  }

  #watchedCounts(nowMs: MonotonicMs): void {
    const spec = this.countedSpec();
    if (spec !== undefined) this.#firstCounts.sawCounts(spec, this.cell()?.aggregation, nowMs);
  }

  /**
   * Looks at a state that is certainly newer than our last write (a live GET, or an event above it). When its recorded
   * version is below what we wrote and not that of a recount, the core was restored.
   */
  #checkRestored(nowMs: MonotonicMs): void {
    const recorded = this.cell()?.aggregation;
    const own = this.#written?.resourceVersion;
    const theirs = recorded?.resourceVersion;
    if (own === undefined || theirs === undefined || compareResourceVersions(theirs, own) >= 0) return;
    if (!this.#scope.marks.isRecountedSince(this.#written, recorded)) this.#restoredSinceMs ??= nowMs;
  }

  #observe(nowMs: MonotonicMs, continuous: boolean): void {
    this.foreignOwners.saw(generationOf(this.#newest), this.#newest.protector.spec, nowMs);
    const buckets = this.buckets();
    if (this.#hasOpen || buckets.length > 0) this.#lastOpenAtMs = nowMs;
    this.#hasOpen = buckets.length > 0;
    this.firstSeen.observe(buckets, nowMs, continuous);
  }
}

function generationOf({ protector }: ProtectorVersion): number {
  return protector.metadata.generation ?? 0;
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
