/**
 * What the aggregator keeps per PodProtector: its newest known object, when its buckets were first seen, and what we wrote. The newest of
 * {informer, own last write, live GET} is the base of the next write, so that an aggregator does not conflict with itself.
 */
import { compareResourceVersions } from "../api/resource-version.ts";
import { type CellStatus } from "../api/v1alpha1/pod-protector.ts";
import { BucketWatch } from "../core/bucket-watch.ts";
import { CellMemory } from "../core/cell-memory.ts";
import { type StoredProtector } from "../kube/resources.ts";

export class ProtectorState {
  readonly watch = new BucketWatch();
  readonly memory = new CellMemory();
  readonly uid: string;
  readonly #cellID: string;
  #newest: StoredProtector;
  /** A relist may hide that the core was restored: read the object live before the next write. */
  needsLiveRead = false;

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

  /** An event of the watch. `wentBack`: its version is below the one that the watch had delivered before (core restored). */
  watched(stored: StoredProtector, wentBack: boolean, nowMs: number): void {
    if (wentBack) {
      this.memory.restored(nowMs);
      this.#newest = stored;
      this.#observe(nowMs, false);
    } else if (compareResourceVersions(stored.resourceVersion, this.#newest.resourceVersion) > 0) {
      this.#newest = stored;
      this.#observe(nowMs, true);
    }
  }

  /** The answer of a live GET: certainly newer than anything we wrote before, so a lower version means a restored core. */
  readLive(stored: StoredProtector, nowMs: number): void {
    const wentBack = compareResourceVersions(stored.resourceVersion, this.#newest.resourceVersion) < 0;
    if (wentBack) this.memory.restored(nowMs);
    this.#newest = stored;
    const aggregation = this.cell()?.aggregation;
    this.memory.checkRestored(aggregation, nowMs);
    // Versions between the last event and this answer were not seen.
    this.#observe(nowMs, false);
    this.needsLiveRead = false;
  }

  /** Our write was accepted as this object. */
  wrote(stored: StoredProtector, nowMs: number): void {
    this.#newest = stored;
    // The write was a compare-and-swap on what had been observed, so nothing was missed in between.
    this.#observe(nowMs, true);
  }

  /** The PodProtector watch was listed anew: packed pods may have come and gone unseen. */
  relisted(nowMs: number): void {
    this.needsLiveRead = true;
    this.#observe(nowMs, false);
  }

  #observe(nowMs: number, continuous: boolean): void {
    this.watch.observe(this.cell()?.admissionHistory?.buckets ?? [], nowMs, continuous);
  }
}
