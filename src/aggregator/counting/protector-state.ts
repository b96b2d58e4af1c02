/**
 * What the aggregator keeps of one PodProtector: its newest known object, since when its buckets have been seen, and
 * what we wrote. Lost on a restart, which makes things later, never wrong.
 *
 * The newest of {watch, own last write, live GET} is the base of the next write, so that an aggregator does not
 * conflict with itself. Each method in the past participle tells of one event:
 * - from the core: `watched`, `relisted`, `readLive`, `wrote`;
 * - from the worker: `snapshotWentBack`, `workerReset`, `foundObsolete`, `takenOver`.
 */
import { type ObjectKey } from "../../api/object-key.ts";
import { compareResourceVersions, type ResourceVersion } from "../../api/resource-version.ts";
import { type CellStatus } from "../../api/v1alpha1/pod-protector.ts";
import { FirstSeen } from "../../accounting/settle/first-seen.ts";
import { CellMemory, type OwnAggregation } from "../../accounting/count/cell-memory.ts";
import { type RecountMarks } from "../../accounting/count/recount-mark.ts";
import { countedSpec, CountedSpec } from "../../accounting/count/counted-spec.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { assertNever } from "../../util/assert.ts";
import { later, longAgo, type MonotonicMs } from "../../util/clock.ts";

/** What bears on first counts; the reasons are in `#firstCounts`. */
type FirstCountsEvent = "watched" | "relisted" | "readLive" | "workerReset" | "takenOver";

export class ProtectorState {
  readonly firstSeen = new FirstSeen();
  readonly memory: CellMemory;
  readonly key: ObjectKey;
  readonly uid: string;
  readonly #cellID: string;
  #newest: StoredProtector;
  #selectorText: string | undefined;
  #needsLiveRead = false;
  /** At the last event of the watch, the cell had no counts. */
  #wasUncounted = false;
  #spec: { readonly selectorText: string; readonly minReadySeconds: number; readonly hash: string } | undefined;
  #hasOpen = false;
  #lastOpenAtMs: MonotonicMs = longAgo;
  #sentAtMs: MonotonicMs = longAgo;
  #isFailing = false;
  #behind: { readonly recorded: string | undefined; readonly sinceMs: MonotonicMs } | undefined;

  /** @param selectorText canonical text of the last valid counting selector; undefined = none, nothing is counted */
  constructor(
    first: StoredProtector,
    selectorText: string | undefined,
    cellID: string,
    marks: RecountMarks,
    nowMs: MonotonicMs,
  ) {
    this.memory = new CellMemory(marks);
    this.key = first.key;
    this.uid = first.uid;
    this.#cellID = cellID;
    this.#newest = first;
    this.#selectorText = selectorText;
    this.#observe(nowMs, false);
    this.#firstCounts("watched", nowMs);
  }

  get newest(): StoredProtector {
    return this.#newest;
  }

  cell(): CellStatus | undefined {
    return this.#newest.protector.status?.cells.find((cell) => cell.cellID === this.#cellID);
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

  /** Whether what has to be counted now was not: there are no counts, or they answer another spec. */
  get isUncounted(): boolean {
    const spec = this.countedSpec();
    const recorded = this.memory.effective(this.cell()?.aggregation);
    return spec !== undefined && (recorded?.resourceVersion === undefined || recorded.countedSpec !== spec);
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

  /** A write is sent. What happens from now on may not be in it. */
  sending(nowMs: MonotonicMs): void {
    this.#sentAtMs = nowMs;
  }

  /** An aggregation has ended. A conflict is no failure. */
  aggregated(hasFailed: boolean): void {
    this.#isFailing = hasFailed;
  }

  /** False when no counting selector was ever valid. */
  get isCountable(): boolean {
    return this.#selectorText !== undefined;
  }

  /** After a relist, which may hide that the core was restored: the object must be read live before the next write. */
  get needsLiveRead(): boolean {
    return this.#needsLiveRead;
  }

  /** Since when the snapshot has been seen below the version that is recorded now; the first call says now. */
  behindSinceMs(nowMs: MonotonicMs): MonotonicMs {
    const recorded = this.cell()?.aggregation?.resourceVersion;
    if (this.#behind === undefined || this.#behind.recorded !== recorded) this.#behind = { recorded, sinceMs: nowMs };
    return this.#behind.sinceMs;
  }

  /**
   * An event of the watch.
   * @param selectorText as for the constructor
   * @param wentBack its version is below the one that the watch had delivered before: the core was restored
   */
  watched(stored: StoredProtector, selectorText: string | undefined, wentBack: boolean, nowMs: MonotonicMs): void {
    this.#selectorText = selectorText;
    if (wentBack) {
      this.memory.restored(nowMs);
      this.#newest = stored;
      this.#observe(nowMs, false);
    } else if (compareResourceVersions(stored.resourceVersion, this.#newest.resourceVersion) > 0) {
      this.#newest = stored;
      this.memory.checkRestored(this.cell()?.aggregation, nowMs);
      this.#observe(nowMs, true);
    }
    this.#firstCounts("watched", nowMs);
  }

  /** The watch of PodProtectors was listed again: versions of the object may have been missed. */
  relisted(nowMs: MonotonicMs): void {
    this.#needsLiveRead = true;
    this.#firstCounts("relisted", nowMs);
    this.#observe(nowMs, false);
  }

  /**
   * The answer of a live GET. It is not older than `knownVersion`, known before the GET was sent, so a lower version
   * means a restored core. The watch may have delivered newer versions while the answer was on its way; then the newest
   * one stays.
   */
  readLive(stored: StoredProtector, knownVersion: ResourceVersion, nowMs: MonotonicMs): void {
    const wentBack = compareResourceVersions(stored.resourceVersion, knownVersion) < 0;
    if (wentBack) this.memory.restored(nowMs);
    if (wentBack || compareResourceVersions(stored.resourceVersion, this.#newest.resourceVersion) > 0)
      this.#newest = stored;
    this.#firstCounts("readLive", nowMs);
    this.memory.checkRestored(this.cell()?.aggregation, nowMs);
    // Versions between the last event and this answer were not seen.
    this.#observe(nowMs, false);
    this.#needsLiveRead = false;
  }

  /** Our write of `aggregation` was accepted as this object. The watch may have delivered it or newer ones before. */
  wrote(stored: StoredProtector, aggregation: OwnAggregation, nowMs: MonotonicMs): void {
    this.memory.wrote(aggregation);
    if (compareResourceVersions(stored.resourceVersion, this.#newest.resourceVersion) <= 0) return;
    this.#newest = stored;
    // The write was a compare-and-swap on what had been observed, so nothing was missed in between.
    this.#observe(nowMs, true);
  }

  /** The snapshot of pods is older than before: what was seen so far proves nothing, and all waits start again. */
  snapshotWentBack(nowMs: MonotonicMs): void {
    this.firstSeen.restart(nowMs);
  }

  /** The worker's history was reset; pods are listed again after this call. */
  workerReset(nowMs: MonotonicMs): void {
    this.memory.workerReset(this.cell()?.aggregation);
    this.#firstCounts("workerReset", nowMs);
    this.firstSeen.restart(nowMs);
  }

  /** The cell was another cluster's (docs/aggregator.md#one-cell-one-cluster). */
  takenOver(nowMs: MonotonicMs): void {
    this.memory.takenOver();
    this.#firstCounts("takenOver", nowMs);
    this.firstSeen.restart(nowMs);
  }

  /** What is recorded belongs to a former history of the worker; the snapshot is of the present one. */
  foundObsolete(nowMs: MonotonicMs): void {
    this.memory.workerReset(this.cell()?.aggregation);
    this.firstSeen.restart(nowMs);
  }

  /**
   * First counts need a snapshot that is newer than what they replace: it must have passed a barrier that was sent
   * after that was seen (docs/accounting.md#first-counts). When the wait begins is decided here, for each event. It
   * ends with an accepted write, or when `planCell` finds that no first counts are needed.
   */
  #firstCounts(event: FirstCountsEvent, nowMs: MonotonicMs): void {
    const recorded = this.cell()?.aggregation;
    switch (event) {
      case "watched": {
        const spec = this.countedSpec();
        if (spec === undefined) return;
        // Without counts in the cell, nothing has been settled in it either, so a barrier sent after this event is
        // enough. Once there are counts, the wait begins when the next aggregation sees them.
        if (recorded === undefined) this.memory.firstCountsSince(spec, nowMs);
        else if (this.#wasUncounted) this.memory.firstCountsDone();
        else this.memory.firstCountsOnlyOf(spec);
        this.#wasUncounted = recorded === undefined;
        return;
      }
      case "relisted":
        // Counts may have been written, used to settle, and undone unseen: only a future barrier is enough.
        this.memory.firstCountsDone();
        return;
      case "readLive":
        // As after a relist. But a cell that still has no counts needs no new barrier, or cells that start together
        // would hold each other up.
        if (recorded !== undefined) this.memory.firstCountsDone();
        return;
      case "workerReset": {
        // What is recorded was seen before pods are listed again, and that list is a barrier.
        const spec = this.countedSpec();
        if (spec !== undefined) this.memory.firstCountsSince(spec, later(nowMs, -1), recorded);
        return;
      }
      case "takenOver": {
        const spec = this.countedSpec();
        if (spec !== undefined) this.memory.firstCountsSince(spec, nowMs, recorded);
        return;
      }
      default:
        assertNever(event);
    }
  }

  #observe(nowMs: MonotonicMs, continuous: boolean): void {
    const buckets = this.cell()?.admissionHistory?.buckets ?? [];
    if (this.#hasOpen || buckets.length > 0) this.#lastOpenAtMs = nowMs;
    this.#hasOpen = buckets.length > 0;
    this.firstSeen.observe(buckets, nowMs, continuous);
  }
}
