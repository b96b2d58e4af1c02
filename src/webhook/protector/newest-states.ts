/**
 * The newest known state of each PodProtector of one core (design 3, point 8): the newest of {watch, own last write,
 * live GET}. It is the base of the next write, so that a hot PodProtector does not conflict with itself.
 *
 * A live GET is a quorum read, so it always replaces what was remembered. When it shows a lower version than was known
 * before it was sent, under the same UID, the core was restored from a backup. The same has happened when a newer state
 * has counts of a lower worker version, even if the object was written since. Counts at or below the highest worker
 * version seen are then "not there" (design 2.5), until newer ones arrive, or a recount (accounting/count/cell-memory.ts).
 * A watch that goes backwards proves nothing, because a relist may come from a lagging server; it only asks for a live
 * GET. One entry per object of the watch, so the memory is bounded by the informer's.
 *
 * A watch whose connection died silently is noticed only after minutes. Nothing is admitted wrongly meanwhile, because
 * a write compares and swaps; but a refusal needs no write. So before a refusal by a state that may be old, the object
 * is suspected: the next batch reads it live (`suspect`).
 */
import { compareResourceVersions, type ResourceVersion } from "../../api/resource-version.ts";
import { type Aggregation } from "../../api/v1alpha1/pod-protector.ts";
import { isRecountedSince } from "../../accounting/count/cell-memory.ts";
import { longAgo } from "../../util/clock.ts";
import { type ProtectorView } from "./protector-view.ts";

interface Entry {
  newest: ProtectorView;
  /** Version of the last event of the watch. */
  watchedVersion: ResourceVersion;
  /**
   * Read the object live before judging by `newest`, because it may be old, or even wrong. "overtaken": because of a
   * conflict, so that a newer state from the watch will do as well.
   */
  doubt: "none" | "old" | "overtaken" | "wrong";
  /** Somebody else has written since `newest`: a write met a conflict. */
  isOvertaken: boolean;
  /** Since the last own write. */
  conflictsInRow: number;
  /** Monotonic time of the last suspicion. */
  suspectedMs: number;
  /** By cell, what was known when a restore was seen: counts at or below that worker version are not there. */
  lost: Map<string, KnownCounts>;
}

interface KnownCounts {
  readonly version: ResourceVersion;
  readonly aggregation: Aggregation;
}

/** A PodProtector that cannot be understood, in its newest state. */
export interface Unusable {
  readonly uid: string;
  /** For people. */
  readonly reason: string;
}

/** One GET a second keeps a refusal fresh enough for those who ask again, however many ask. */
const suspectIntervalMs = 1_000;
/**
 * 50 GETs a second, a quarter of the default request rate: when thousands of workloads are refused at once, the writes
 * come first.
 */
const suspectSpacingMs = 20;

/**
 * Conflicts in a row after which the watch is still believed: a replica wins every other race, so four lost ones are
 * rare.
 */
export const hastyRetries = 3;

const nothingLost: ReadonlyMap<string, ResourceVersion> = new Map();

export class NewestStates {
  readonly #entries = new Map<string, Entry>();
  readonly #unusable = new Map<string, Unusable>();
  #suspectedMs: number = longAgo;
  #hasSeenWrites = false;

  /** Whether the core has taken a write of a PodProtector, from anybody, since this process listed them. */
  get hasSeenWrites(): boolean {
    return this.#hasSeenWrites;
  }

  /** Undefined when the watch does not know the object (any more). */
  get(key: string): ProtectorView | undefined {
    return this.#entries.get(key)?.newest;
  }

  isDoubtful(key: string): boolean {
    const doubt = this.#entries.get(key)?.doubt;
    return doubt !== undefined && doubt !== "none";
  }

  /** Undefined = the object can be understood, or is not there. `get` may still return what it was before. */
  unusable(key: string): Unusable | undefined {
    return this.#unusable.get(key);
  }

  countsLostUpTo(key: string): ReadonlyMap<string, ResourceVersion> {
    const lost = this.#entries.get(key)?.lost;
    // Every review asks.
    if (lost === undefined || lost.size === 0) return nothingLost;
    return new Map([...lost].map(([cellID, { version }]) => [cellID, version]));
  }

  /** The watch has delivered this state. */
  watched(view: ProtectorView): void {
    this.#unusable.delete(view.key);
    const entry = this.#entries.get(view.key);
    if (entry === undefined || entry.newest.uid !== view.uid) {
      this.#entries.set(view.key, {
        newest: view,
        watchedVersion: view.resourceVersion,
        doubt: "none",
        isOvertaken: false,
        conflictsInRow: 0,
        suspectedMs: longAgo,
        lost: new Map(),
      });
      return;
    }
    if (compareResourceVersions(view.resourceVersion, entry.watchedVersion) < 0) entry.doubt = "wrong";
    entry.watchedVersion = view.resourceVersion;
    if (!isNewer(view, entry.newest)) return;
    this.#hasSeenWrites = true;
    if (entry.doubt === "overtaken") {
      entry.doubt = "none";
      entry.isOvertaken = false;
    }
    replace(entry, view);
  }

  /** The watch says that the object is gone. */
  removed(key: string): void {
    this.#entries.delete(key);
    this.#unusable.delete(key);
  }

  /** The watch has delivered a state that cannot be understood. */
  rejected(key: string, unusable: Unusable): void {
    this.#unusable.set(key, unusable);
  }

  /** Our write was accepted as this state. */
  wrote(view: ProtectorView): void {
    const entry = this.#entries.get(view.key);
    // The watch may have been faster, even with a state that somebody else wrote after ours.
    if (entry === undefined) return;
    entry.conflictsInRow = 0;
    this.#hasSeenWrites = true;
    if (entry.newest.uid === view.uid && isNewer(view, entry.newest)) replace(entry, view);
  }

  /** A write failed in a way that leaves the state unknown (a lost answer). */
  doubt(key: string): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) entry.doubt = "wrong";
  }

  /**
   * A write on top of `base` met a conflict. A newer state from the watch explains it, which may have come already.
   * After more than `hastyRetries` in a row the watch is behind, and only a live GET will do. Returns the number of
   * conflicts in a row.
   */
  overtaken(base: ProtectorView): number {
    const entry = this.#entries.get(base.key);
    if (entry === undefined) return 1;
    entry.conflictsInRow += 1;
    if (entry.conflictsInRow > hastyRetries) entry.doubt = "wrong";
    else if (entry.newest === base && entry.doubt !== "wrong") entry.doubt = "overtaken";
    entry.isOvertaken = entry.doubt !== "none";
    return entry.conflictsInRow;
  }

  /** True when the core holds a newer state than `get` returns, for certain. */
  isOvertaken(key: string): boolean {
    return this.#entries.get(key)?.isOvertaken === true;
  }

  /**
   * The state may be old. Returns whether it is to be read live: limited to one GET a second for each object, and 50
   * for all.
   */
  suspect(key: string, nowMs: number): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined) return false;
    if (entry.doubt !== "none") return true;
    if (nowMs - entry.suspectedMs < suspectIntervalMs || nowMs - this.#suspectedMs < suspectSpacingMs) return false;
    entry.doubt = "old";
    entry.suspectedMs = nowMs;
    this.#suspectedMs = nowMs;
    return true;
  }

  /** The state may be old, but nothing says that it is wrong. */
  isSuspected(key: string): boolean {
    return this.#entries.get(key)?.doubt === "old";
  }

  /** The live GET of a state that may be old did not succeed. Returns true when it can be judged by all the same. */
  clearSuspicion(key: string): boolean {
    const entry = this.#entries.get(key);
    if (entry?.doubt !== "old") return false;
    entry.doubt = "none";
    return true;
  }

  /**
   * The answer of a live GET. `known`: what `get` returned when the GET was sent. Returns true when it shows that the
   * core was restored.
   */
  readLive(view: ProtectorView, known: ProtectorView): boolean {
    const entry = this.#entries.get(view.key);
    if (entry === undefined) return false;
    entry.doubt = "none";
    entry.isOvertaken = false;
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
    const version = aggregation?.resourceVersion;
    if (aggregation !== undefined && version !== undefined) counts.set(cellID, { version, aggregation });
  }
  return counts;
}
