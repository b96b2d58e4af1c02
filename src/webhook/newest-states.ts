/**
 * The newest known state of each PodProtector of one core (design 3, point 8): the newest of {watch, own last write, live GET}. It is the base of the
 * next write, so that a hot PodProtector does not conflict with itself.
 *
 * A live GET is a quorum read, so it always replaces what was remembered. When it shows a lower version than was known before it was sent,
 * under the same UID, the core was restored from a backup: counts at or below the highest worker version seen are then "not there" (design 2.5),
 * until newer ones arrive. A watch that goes backwards proves nothing, because a relist may come from a lagging server; it only asks for
 * a live GET. One entry per object of the watch, so the memory is bounded by the informer's.
 */
import {
  compareResourceVersions,
  newerResourceVersion,
  parseResourceVersion,
  type ResourceVersion,
} from "../api/resource-version.ts";
import { type ProtectorView } from "./protector-view.ts";

interface Entry {
  newest: ProtectorView;
  /** Version of the last event of the watch. */
  watchedVersion: ResourceVersion;
  /** `newest` may be wrong: read the object live before judging by it. */
  isDoubtful: boolean;
  /** By cell: counts at or below this worker version are not there. */
  countsLostUpTo: Map<string, ResourceVersion>;
}

const nothingLost: ReadonlyMap<string, ResourceVersion> = new Map();

export class NewestStates {
  readonly #entries = new Map<string, Entry>();

  /** Undefined when the watch does not know the object (any more). */
  get(key: string): ProtectorView | undefined {
    return this.#entries.get(key)?.newest;
  }

  isDoubtful(key: string): boolean {
    return this.#entries.get(key)?.isDoubtful === true;
  }

  countsLostUpTo(key: string): ReadonlyMap<string, ResourceVersion> {
    return this.#entries.get(key)?.countsLostUpTo ?? nothingLost;
  }

  /** The watch has delivered this state. */
  watched(view: ProtectorView): void {
    const entry = this.#entries.get(view.key);
    if (entry === undefined || entry.newest.uid !== view.uid) {
      this.#entries.set(view.key, {
        newest: view,
        watchedVersion: view.resourceVersion,
        isDoubtful: false,
        countsLostUpTo: new Map(),
      });
      return;
    }
    if (compareResourceVersions(view.resourceVersion, entry.watchedVersion) < 0) entry.isDoubtful = true;
    entry.watchedVersion = view.resourceVersion;
    if (isNewer(view, entry.newest)) replace(entry, view);
  }

  /** The watch says that the object is gone. */
  removed(key: string): void {
    this.#entries.delete(key);
  }

  /** Our write was accepted as this state. */
  wrote(view: ProtectorView): void {
    const entry = this.#entries.get(view.key);
    // The watch may have been faster, even with a state that somebody else wrote after ours.
    if (entry !== undefined && entry.newest.uid === view.uid && isNewer(view, entry.newest)) replace(entry, view);
  }

  /** A write failed in a way that leaves the state unknown (a conflict, a lost answer). */
  doubt(key: string): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) entry.isDoubtful = true;
  }

  /** The answer of a live GET. `known`: what `get` returned when the GET was sent. Returns true when it shows that the core was restored. */
  readLive(view: ProtectorView, known: ProtectorView): boolean {
    const entry = this.#entries.get(view.key);
    if (entry === undefined) return false;
    entry.isDoubtful = false;
    if (view.uid !== known.uid) {
      entry.countsLostUpTo.clear();
      entry.newest = view;
      return false;
    }
    const isRestored = isNewer(known, view);
    if (isRestored) {
      for (const cell of known.protector.status?.cells ?? []) {
        const version = parseResourceVersion(cell.aggregation?.resourceVersion);
        if (version === undefined) continue;
        entry.countsLostUpTo.set(cell.cellID, newerResourceVersion(version, entry.countsLostUpTo.get(cell.cellID)));
      }
      entry.watchedVersion = view.resourceVersion;
      replace(entry, view);
    } else if (entry.newest === known || isNewer(view, entry.newest)) {
      // Otherwise the watch has overtaken the GET.
      replace(entry, view);
    }
    return isRestored;
  }
}

function isNewer(a: ProtectorView, b: ProtectorView): boolean {
  return compareResourceVersions(a.resourceVersion, b.resourceVersion) > 0;
}

function replace(entry: Entry, view: ProtectorView): void {
  entry.newest = view;
  if (entry.countsLostUpTo.size === 0) return;
  for (const cell of view.protector.status?.cells ?? []) {
    const version = parseResourceVersion(cell.aggregation?.resourceVersion);
    const lostUpTo = entry.countsLostUpTo.get(cell.cellID);
    if (version === undefined || lostUpTo === undefined) continue;
    if (compareResourceVersions(version, lostUpTo) > 0) entry.countsLostUpTo.delete(cell.cellID);
  }
}
