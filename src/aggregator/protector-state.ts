/**
 * What the aggregator keeps per PodProtector: its newest known object, when its buckets were first seen, and what we
 * wrote. The newest of {informer, own last write, live GET} is the base of the next write, so that an aggregator does
 * not conflict with itself.
 */
import { compareResourceVersions, type ResourceVersion } from "../api/resource-version.ts";
import { type CellStatus } from "../api/v1alpha1/pod-protector.ts";
import { FirstSeen } from "../accounting/settle/first-seen.ts";
import { CellMemory } from "../accounting/count/cell-memory.ts";
import { type StoredProtector } from "../kube/resources.ts";

export class ProtectorState {
  readonly firstSeen = new FirstSeen();
  readonly memory = new CellMemory();
  readonly uid: string;
  readonly #cellID: string;
  #newest: StoredProtector;
  /** A relist may hide that the core was restored: read the object live before the next write. */
  needsLiveRead = false;
  #isUncounted = false;
  #countedSpec: string | undefined;
  #behind: { readonly recorded: string | undefined; readonly sinceMs: number } | undefined;

  constructor(first: StoredProtector, cellID: string, nowMs: number) {
    this.uid = first.uid;
    this.#cellID = cellID;
    this.#newest = first;
    this.#observe(nowMs, false);
  }

  get newest(): StoredProtector {
    return this.#newest;
  }

  cell(): CellStatus | undefined {
    return this.#newest.protector.status?.cells.find((cell) => cell.cellID === this.#cellID);
  }

  /**
   * Takes note of what is to be counted. While nobody has counted the cell, nobody has settled anything in it either,
   * so a barrier sent after this event is enough for the first counts.
   */
  noteSpec(countedSpec: string, nowMs: number): void {
    this.#countedSpec = countedSpec;
    const isUncounted = this.cell()?.aggregation === undefined;
    if (isUncounted) this.memory.firstCountsSince(countedSpec, nowMs);
    else if (this.#isUncounted) this.memory.firstCountsDone();
    this.#isUncounted = isUncounted;
  }

  /**
   * The worker's history was reset; pods are listed anew after this call. What is recorded was seen before that list,
   * so it is enough for the first counts of the new history.
   */
  workerReset(nowMs: number): void {
    const recorded = this.cell()?.aggregation;
    this.memory.workerReset(recorded);
    if (this.#countedSpec !== undefined) this.memory.firstCountsSince(this.#countedSpec, nowMs - 1, recorded);
  }

  /** Since when the snapshot has been seen below the version that is recorded now; the first call says now. */
  behindSinceMs(nowMs: number): number {
    const recorded = this.cell()?.aggregation?.resourceVersion;
    if (this.#behind === undefined || this.#behind.recorded !== recorded) this.#behind = { recorded, sinceMs: nowMs };
    return this.#behind.sinceMs;
  }

  /**
   * An event of the watch. `wentBack`: its version is below the one that the watch had delivered before (core
   * restored).
   */
  watched(stored: StoredProtector, wentBack: boolean, nowMs: number): void {
    if (wentBack) {
      this.memory.restored(nowMs);
      this.#newest = stored;
      this.#observe(nowMs, false);
    } else if (compareResourceVersions(stored.resourceVersion, this.#newest.resourceVersion) > 0) {
      this.#newest = stored;
      this.memory.checkRestored(this.cell()?.aggregation, nowMs);
      this.#observe(nowMs, true);
    }
  }

  /**
   * The answer of a live GET. It is not older than `knownVersion`, known before the GET was sent, so a lower version
   * means a restored core. The watch may have delivered newer versions while the answer was on its way; then the newest
   * one stays.
   */
  readLive(stored: StoredProtector, knownVersion: ResourceVersion, nowMs: number): void {
    const wentBack = compareResourceVersions(stored.resourceVersion, knownVersion) < 0;
    if (wentBack) this.memory.restored(nowMs);
    if (wentBack || compareResourceVersions(stored.resourceVersion, this.#newest.resourceVersion) > 0)
      this.#newest = stored;
    const aggregation = this.cell()?.aggregation;
    // As after a relist; a cell that still has no counts at all needs no new barrier, or cells that start together
    // would hold each other up.
    if (aggregation !== undefined) this.memory.firstCountsDone();
    this.memory.checkRestored(aggregation, nowMs);
    // Versions between the last event and this answer were not seen.
    this.#observe(nowMs, false);
    this.needsLiveRead = false;
  }

  /** Our write was accepted as this object. The watch may have delivered it already, and newer ones. */
  wrote(stored: StoredProtector, nowMs: number): void {
    if (compareResourceVersions(stored.resourceVersion, this.#newest.resourceVersion) <= 0) return;
    this.#newest = stored;
    // The write was a compare-and-swap on what had been observed, so nothing was missed in between.
    this.#observe(nowMs, true);
  }

  /** The PodProtector watch was listed anew: packed pods may have come and gone unseen. */
  relisted(nowMs: number): void {
    this.needsLiveRead = true;
    // Somebody may have counted, settled and been undone unseen: first counts need a new barrier.
    this.memory.firstCountsDone();
    this.#observe(nowMs, false);
  }

  #observe(nowMs: number, continuous: boolean): void {
    this.firstSeen.observe(this.cell()?.admissionHistory?.buckets ?? [], nowMs, continuous);
  }
}
