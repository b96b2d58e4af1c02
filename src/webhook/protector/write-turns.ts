/**
 * Turns of several replicas that write one PodProtector. Writers that know nothing of each other conflict: of three
 * that all write as fast as they can, two write in vain, and a retry after a fixed time meets the next ones. But each
 * sees the writes of the others on its watch. So a replica counts how many others wrote between two writes of its own:
 * that many are its peers. When it has seen as many since its last write, it is its turn. That makes a ring without any
 * message, in which nobody conflicts and all get the same share.
 *
 * - A peer that has nothing to write is passed over: whoever is n places behind in the ring waits n slots after the
 *   last write that it saw.
 * - Whoever met a conflict was overtaken by one that it had not seen yet. It waits for the watch to show that write, so
 *   that it need not ask for it, and tries again at once: a replica that the others do not count among their peers yet
 *   wins soon, and then they do.
 * - After a batch of several deletions the object rests for as long as the write took: more join the next batch, and
 *   the others get between. On a real API server that halves the writes of one hot PodProtector and makes its reviews
 *   faster, because what a write costs hardly depends on the batch.
 * - An aggregator writes on its own time, about once a second, and is no peer. It is known by the counts that change
 *   with each of its writes.
 *
 * All of this only decides when to write; what keeps the accounting right is the compare-and-swap. docs/performance.md
 * has figures.
 */
import { compareResourceVersions, type ResourceVersion } from "../../api/resource-version.ts";
import { type CellStatus } from "../../api/v1alpha1/pod-protector.ts";
import { type Clock } from "../../util/clock.ts";

/** With more peers each would wait for a second and longer; beyond that a conflict is cheaper. */
const peersMax = 8;
/**
 * Weight of the newest interval between two own writes in the number of peers. Down faster than up: whoever counts too
 * many lets the others pass, sees them pass, and would never find out.
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
const slotMsMax = 100;
/** An API server that is slow for another reason does not get faster by longer rests. */
const restMsMax = 50;
/**
 * Objects whose turns are remembered, the last written ones. One that is forgotten starts without peers and meets a
 * conflict at worst.
 */
const objectsMax = 10_000;

interface Ring {
  /** Version of the last own write. */
  own: ResourceVersion;
  /** Versions that others wrote since then; those that are not needed to tell whose turn it is are only counted. */
  later: ResourceVersion[];
  laterCount: number;
  /** Writes of others from before the last own one, which the watch delivered after it. */
  lateCount: number;
  /** Writes of others between two own ones, on average. */
  peers: number;
  /** Monotonic time of the last write of a peer or of this replica, as far as it is known. */
  lastMs: number;
  /** After a conflict: how long to wait at most for the watch to show what was written instead. */
  overtakenUntilMs: number;
  /** How long an own write takes, on average. */
  writeMs: number;
  /** How much later the watch shows an own write than the answer does, on average. */
  lagMs: number;
  /** Monotonic time of the answer to the last own write. */
  answeredMs: number;
  /** Monotonic time until which the object rests. */
  restUntilMs: number;
  /** The counts of the last state that the watch has delivered, as a text. */
  counts: string | undefined;
}

export class WriteTurns {
  readonly #clock: Clock;
  readonly #rings = new Map<string, Ring>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds until it is this replica's turn to write `object`, if the others do nothing. */
  delayMs(object: string): number {
    const ring = this.#rings.get(object);
    if (ring === undefined) return 0;
    const nowMs = this.#clock.monotonicMs();
    const placesBehind = Math.ceil(ring.peers - ignoredShare) - ring.later.length;
    const slotMs = Math.min(slotMsMax, Math.max(slotMsMin, ring.writeMs * slotsPerWrite + ring.lagMs * slotsPerLag));
    const turnMs = placesBehind <= 0 ? ring.overtakenUntilMs : ring.lastMs + placesBehind * slotMs;
    return Math.max(0, turnMs - nowMs, ring.restUntilMs - nowMs);
  }

  /** The watch has delivered this state. Returns true when `delayMs` may have changed. */
  seen(object: string, version: ResourceVersion, cells: readonly CellStatus[]): boolean {
    const ring = this.#rings.get(object);
    if (ring === undefined) return false;
    const counts = countsOf(cells);
    const isCount = ring.counts !== undefined && ring.counts !== counts;
    ring.counts = counts;
    if (ring.own === version) {
      ring.lagMs += (this.#clock.monotonicMs() - ring.answeredMs - ring.lagMs) * newestWeight.more;
      return false;
    }
    if (compareResourceVersions(version, ring.own) < 0) {
      if (!isCount) ring.lateCount += 1;
      return false;
    }
    ring.overtakenUntilMs = 0;
    if (isCount) return true;
    ring.laterCount += 1;
    if (ring.later.length < peersMax) ring.later.push(version);
    ring.lastMs = this.#clock.monotonicMs();
    return true;
  }

  /** A write on top of the version `base` met a conflict. */
  conflicted(object: string, base: ResourceVersion): void {
    const ring = this.#rings.get(object);
    if (ring === undefined) return;
    ring.lastMs = this.#clock.monotonicMs();
    const isShown = ring.later.some((version) => compareResourceVersions(version, base) > 0);
    if (!isShown) ring.overtakenUntilMs = ring.lastMs + ring.writeMs + ring.lagMs;
  }

  /** An own write of the object, for a batch of `size` deletions, was accepted as this version. */
  wrote(object: string, version: ResourceVersion, durationMs: number, size: number): void {
    const ring = this.#rings.get(object) ?? newRing(version, durationMs);
    // The watch may have been faster than the answer, with this write and with later ones.
    const after = ring.later.filter((one) => compareResourceVersions(one, version) > 0);
    const own = ring.later.includes(version) ? 1 : 0;
    const others = Math.min(peersMax, ring.laterCount - after.length - own + ring.lateCount);
    ring.peers += (others - ring.peers) * (others < ring.peers ? newestWeight.fewer : newestWeight.more);
    ring.writeMs += (durationMs - ring.writeMs) * newestWeight.more;
    if (own === 1) ring.lagMs -= ring.lagMs * newestWeight.more;
    ring.later = after;
    ring.laterCount = after.length;
    ring.lateCount = 0;
    ring.own = version;
    ring.lastMs = this.#clock.monotonicMs();
    ring.answeredMs = ring.lastMs;
    ring.overtakenUntilMs = 0;
    ring.restUntilMs = size > 1 ? ring.lastMs + Math.min(restMsMax, ring.writeMs) : 0;
    this.#rings.delete(object);
    this.#rings.set(object, ring);
    const [oldest] = this.#rings.keys();
    if (this.#rings.size > objectsMax && oldest !== undefined) this.#rings.delete(oldest);
  }
}

function newRing(own: ResourceVersion, writeMs: number): Ring {
  const none = {
    laterCount: 0,
    lateCount: 0,
    peers: 0,
    lastMs: 0,
    overtakenUntilMs: 0,
    restUntilMs: 0,
    lagMs: 0,
    answeredMs: 0,
  };
  return { own, later: [], ...none, writeMs, counts: undefined };
}

/** Changes with each write of an aggregator, upstream's too. */
function countsOf(cells: readonly CellStatus[]): string {
  return cells
    .map(({ aggregation }) => `${aggregation?.resourceVersion} ${aggregation?.lastEventTime} ${aggregation?.countedAt}`)
    .join();
}
