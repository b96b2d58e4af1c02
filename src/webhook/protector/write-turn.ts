/**
 * Turns of several replicas that write one PodProtector (docs/decisions/0003-turns-of-writers.md). Writers that do not
 * know of each other conflict: of three that all write as fast as they can, two write in vain, and a retry after a
 * fixed time meets the next ones. But each sees the writes of the others on its watch. So a replica counts how many
 * others wrote between two writes of its own: that many are its peers. When it has seen as many since its last write,
 * it is its turn. That makes a ring without any message, in which no one conflicts and all get the same share.
 *
 * - A peer that has nothing to write is passed over: a replica that is n places behind in the ring waits n slots after
 *   the last write that it saw. A slot is as long as several writes; where deletions come one by one, as long as one.
 * - A replica that met a conflict was overtaken by a write that it had not seen yet. It waits for the watch to show
 *   that write, unless it has by now, so that it need not ask for it. Then it tries again, a moment before those whose
 *   turn it is: a replica that the others do not count among their peers yet wins soon, and then they do.
 * - A replica counts from the first deletion that it wants to record on, so that the winner of the first race and its
 *   loser know of each other with their first writes. The winner leaves the loser the time of a write before its next
 *   one, or they would meet again.
 * - After a batch of several deletions the next one gathers until nothing new has come for some milliseconds, but no
 *   longer than a write takes: what a write costs hardly depends on the batch, and the others get between.
 * - An aggregator writes in its own time, at most ten times a second, and is no peer. It is known by the counts that
 *   change with each of its writes.
 *
 * All of this only decides when to write; what keeps the accounting right is the compare-and-swap. docs/performance.md
 * has figures.
 */
import { compareResourceVersions, type ResourceVersion } from "../../api/resource-version.ts";
import { type CellStatus } from "../../api/v1alpha1/pod-protector.ts";
import { type Gathering } from "../../retry-batch/index.ts";
import { type Clock, later, longAgo, type MonotonicMs } from "../../util/clock.ts";

/** With more peers each would wait for a second and longer; beyond that a conflict is cheaper. */
const peersMax = 8;
/**
 * Weight of the newest interval between two own writes in the number of peers. Down faster than up: a replica that
 * counts too many lets the others pass, sees them pass, and would never find out.
 */
const newestWeight = { fewer: 0.5, more: 0.2 } as const;
/** Peers are a whole number. The others' rare writes, such as a person's, do not make one more. */
const ignoredShare = 0.15;
/**
 * A slot is long enough for a peer's write, one that takes longer than usual, and for the watch to show one and the
 * other to the next: so many times an own write and the time until the watch shows it, within these.
 */
const slotsPerWrite = 4;
const slotsPerLag = 2;
const slotMsMin = 10;
const slotMsMax = 400;
/** However many write, and however slowly: a review must be answered. */
const turnMsMax = 800;
/** Own writes of a single deletion in a row after which deletions come one by one: the first of a wave may be one. */
const loneAfter = 2;
/** Own writes in a row after which a replica is alone. */
const aloneAfter = 8;
/**
 * Whoever met a conflict begins so much sooner after the write of another than those whose turn it is. Without that,
 * one that the others do not count yet can lose every race.
 */
const precedenceMs = 0.5;
/** Before the first own write shows how long one takes. */
const firstWriteMs = 10;
/** The callers of a batch come back one after the other, each after what a review costs the webhook. */
const quietMs = 3;
/** An API server that is slow for another reason does not get faster by longer waits. */
const gatherMsMax = 50;
/**
 * A write may take so many times the average, within this: a core that has become slow must be asked all the same, or
 * nobody would ever know that it is fast again.
 */
const expectedTimes = 2;
const expectedMsMax = 1_000;
/** A lone review waits for nobody. */
export const noGathering: Gathering = { quietMs: 0, mostMs: 0 };

/** The turns of this replica at one object, from the first deletion on that it wants to record. */
export class WriteTurn {
  readonly #clock: Clock;
  /** Version of the last own write. */
  #own: ResourceVersion;
  /** Versions that others wrote since then; those that are not needed to tell whose turn it is are only counted. */
  #later: readonly ResourceVersion[] = [];
  #laterCount = 0;
  /** Writes of others from before the last own one, which the watch delivered after it. */
  #lateCount = 0;
  /** Writes of others between two own ones, on average. */
  #peers = 0;
  /** The last write of a peer or of this replica, as far as it is known. */
  #lastAt: MonotonicMs = longAgo;
  /** It met a conflict since its last own write. */
  #hasLost = false;
  /** After a conflict: how long to wait at most for the watch to show what was written instead. */
  #overtakenUntil: MonotonicMs = longAgo;
  /** Duration of an own write, on average. */
  #writeMs = firstWriteMs;
  #hasWritten = false;
  /** The last version that the watch has delivered. */
  #watched: ResourceVersion | undefined;
  /** How much later the watch shows an own write than the answer does, on average. */
  #lagMs = 0;
  /** When the answer to the last own write came. */
  #answeredAt: MonotonicMs = longAgo;
  /** Own writes since the last one of a peer. */
  #ownInARow = 0;
  /** Until when the watch is given time to show the last own write to everybody, and they to write. */
  #showsUntil: MonotonicMs = longAgo;
  /** Own writes of a single deletion since the last one of several. */
  #loneInARow = 0;
  /** The counts of the last state that the watch has delivered, as a text. */
  #counts: string | undefined;

  /** The state that is known when this replica first wants to write. */
  constructor(clock: Clock, version: ResourceVersion, cells: readonly CellStatus[]) {
    this.#clock = clock;
    this.#own = version;
    this.#counts = countsOf(cells);
  }

  /** Milliseconds until it is this replica's turn to write, if the others do nothing. */
  delayMs(): number {
    const now = this.#clock.monotonicMs();
    const placesBehind = Math.ceil(this.#peers - ignoredShare) - this.#later.length;
    const isBehind = placesBehind > 0;
    const turn = isBehind ? later(this.#lastAt, Math.min(turnMsMax, placesBehind * this.#slotMs())) : this.#soonest();
    return Math.max(0, turn - now);
  }

  #slotMs(): number {
    // Callers that come one by one rarely meet: whoever has something to write has begun by then.
    if (this.#loneInARow >= loneAfter) return Math.min(slotMsMax, this.#writeMs + this.#lagMs);
    return Math.min(slotMsMax, Math.max(slotMsMin, this.#writeMs * slotsPerWrite + this.#lagMs * slotsPerLag));
  }

  /** When this replica writes, if nobody comes before it. */
  #soonest(): MonotonicMs {
    if (this.#hasLost) return this.#overtakenUntil;
    return this.#later.length > 0 ? later(this.#lastAt, precedenceMs) : this.#showsUntil;
  }

  /** How long the next batch waits for more deletions. */
  gathering(): Gathering {
    const isOfSeveral = this.#hasWritten && this.#loneInARow === 0;
    return isOfSeveral ? { quietMs, mostMs: Math.min(gatherMsMax, this.#writeMs) } : noGathering;
  }

  /** How long the next write may take as a rule. */
  expectedMs(): number {
    return Math.min(expectedMsMax, this.#writeMs * expectedTimes);
  }

  /** The watch has delivered this state. Returns true when `delayMs` may have changed. */
  watched(version: ResourceVersion, cells: readonly CellStatus[]): boolean {
    const counts = countsOf(cells);
    const isCount = this.#counts !== undefined && this.#counts !== counts;
    this.#counts = counts;
    this.#watched = version;
    if (this.#own === version) {
      const now = this.#clock.monotonicMs();
      this.#lagMs += (now - this.#answeredAt - this.#lagMs) * newestWeight.more;
      if (this.#showsUntil === longAgo) return false;
      this.#showsUntil = later(now, Math.max(precedenceMs, this.#othersTimeMs()));
      return true;
    }
    if (compareResourceVersions(version, this.#own) < 0) {
      if (!isCount) this.#lateCount += 1;
      return false;
    }
    this.#overtakenUntil = longAgo;
    if (isCount) return true;
    this.#laterCount += 1;
    if (this.#later.length < peersMax) this.#later = [...this.#later, version];
    this.#lastAt = this.#clock.monotonicMs();
    return true;
  }

  /** A write on top of the version `base` met a conflict. */
  conflicted(base: ResourceVersion): void {
    this.#hasLost = true;
    this.#lastAt = this.#clock.monotonicMs();
    const isShown = this.#watched !== undefined && compareResourceVersions(this.#watched, base) > 0;
    if (!isShown) this.#overtakenUntil = later(this.#lastAt, this.#writeMs + this.#lagMs);
  }

  /** An own write, for a batch of `size` deletions, was accepted as this version. */
  wrote(version: ResourceVersion, durationMs: number, size: number): void {
    // The watch may have been faster than the answer, with this write and with later ones.
    const after = this.#later.filter((one) => compareResourceVersions(one, version) > 0);
    const own = this.#later.includes(version) ? 1 : 0;
    const others = Math.min(peersMax, this.#laterCount - after.length - own + this.#lateCount);
    this.#peers += (others - this.#peers) * (others < this.#peers ? newestWeight.fewer : newestWeight.more);
    this.#writeMs = this.#hasWritten ? this.#writeMs + (durationMs - this.#writeMs) * newestWeight.more : durationMs;
    this.#hasWritten = true;
    this.#hasLost = false;
    if (own === 1) this.#lagMs -= this.#lagMs * newestWeight.more;
    this.#later = after;
    this.#laterCount = after.length;
    this.#lateCount = 0;
    this.#own = version;
    this.#lastAt = this.#clock.monotonicMs();
    this.#answeredAt = this.#lastAt;
    this.#overtakenUntil = longAgo;
    this.#ownInARow = others > 0 ? 0 : this.#ownInARow + 1;
    const shownInMs = own === 1 ? 0 : Math.min(slotMsMax, this.#writeMs + this.#lagMs);
    const restMs = this.#ownInARow < aloneAfter ? shownInMs + this.#othersTimeMs() : 0;
    this.#showsUntil = restMs > 0 ? later(this.#lastAt, restMs) : longAgo;
    this.#loneInARow = size === 1 ? this.#loneInARow + 1 : 0;
  }

  /**
   * For whoever lost against the last own write, and tries again when its watch shows that. Only the first write of a
   * row does not tell yet whether there is anybody.
   */
  #othersTimeMs(): number {
    return this.#ownInARow === 1 ? Math.min(slotMsMax, this.#writeMs) : 0;
  }
}

/** Changes with each write of an aggregator, upstream's too. */
function countsOf(cells: readonly CellStatus[]): string {
  return cells
    .map(({ aggregation }) => `${aggregation?.resourceVersion} ${aggregation?.lastEventTime} ${aggregation?.countedAt}`)
    .join();
}
