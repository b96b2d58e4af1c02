/**
 * The newest known state of each PodProtector of one core (design 3, point 8): the newest of {watch, own last write, live GET}. It is the base of the
 * next write, so that a hot PodProtector does not conflict with itself.
 *
 * A live GET is a quorum read, so it always replaces what was remembered. When it shows a lower version than was known before it was sent,
 * under the same UID, the core was restored from a backup. The same has happened when a newer state has counts of a lower worker version, even
 * if the object was written since. Counts at or below the highest worker version seen are then "not there" (design 2.5), until newer ones
 * arrive, or a recount (core/recount.ts). A watch that goes backwards proves nothing, because a relist may come from a lagging server; it only asks for
 * a live GET. One entry per object of the watch, so the memory is bounded by the informer's.
 */
import { compareResourceVersions, parseResourceVersion, type ResourceVersion } from "../api/resource-version.ts";
import { type Aggregation } from "../api/v1alpha1/pod-protector.ts";
import { isRecountedSince } from "../core/recount.ts";
import { type ProtectorView } from "./protector-view.ts";

interface Entry {
  newest: ProtectorView;
  /** Version of the last event of the watch. */
  watchedVersion: ResourceVersion;
  /** `newest` may be wrong: read the object live before judging by it. */
  isDoubtful: boolean;
  /** By cell, what was known when a restore was seen: counts at or below that worker version are not there. */
  lost: Map<string, KnownCounts>;
}

interface KnownCounts {
  readonly version: ResourceVersion;
  readonly aggregation: Aggregation;
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
    const lost = this.#entries.get(key)?.lost;
    // Every review asks.
    if (lost === undefined || lost.size === 0) return nothingLost;
    return new Map([...lost].map(([cellID, { version }]) => [cellID, version]));
  }

  /** The watch has delivered this state. */
  watched(view: ProtectorView): void {
    const entry = this.#entries.get(view.key);
    if (entry === undefined || entry.newest.uid !== view.uid) {
      this.#entries.set(view.key, {
        newest: view,
        watchedVersion: view.resourceVersion,
        isDoubtful: false,
        lost: new Map(),
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
      entry.lost.clear();
      entry.newest = view;
      return false;
    }
    const isRestored = isNewer(known, view);
    if (isRestored) {
      for (const [cellID, counts] of countsOf(known)) lose(entry, cellID, counts);
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
  const known = countsOf(entry.newest);
  entry.newest = view;
  for (const [cellID, counts] of countsOf(view)) {
    const lost = entry.lost.get(cellID);
    if (lost !== undefined && isLaterCount(lost, counts)) entry.lost.delete(cellID);
    const before = known.get(cellID);
    if (before !== undefined && before.version !== counts.version && !isLaterCount(before, counts))
      lose(entry, cellID, before);
  }
}

/** Remembers the later one of what is known to be lost. */
function lose(entry: Entry, cellID: string, counts: KnownCounts): void {
  const lost = entry.lost.get(cellID);
  if (lost === undefined || isLaterCount(lost, counts)) entry.lost.set(cellID, counts);
}

/** Whether `counts` were written knowing of `known`, or without need to. */
function isLaterCount(known: KnownCounts, counts: KnownCounts): boolean {
  return (
    compareResourceVersions(counts.version, known.version) > 0 ||
    isRecountedSince(known.aggregation, counts.aggregation)
  );
}

/** By cell; without those that a Go aggregator counted. */
function countsOf(view: ProtectorView): Map<string, KnownCounts> {
  const counts = new Map<string, KnownCounts>();
  for (const { cellID, aggregation } of view.protector.status?.cells ?? []) {
    const version = parseResourceVersion(aggregation?.resourceVersion);
    if (aggregation !== undefined && version !== undefined) counts.set(cellID, { version, aggregation });
  }
  return counts;
}
