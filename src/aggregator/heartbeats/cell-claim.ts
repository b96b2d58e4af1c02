/**
 * Whether this worker cluster may count the cell (docs/aggregator.md#one-cell-one-cluster). Versions of two clusters
 * are not comparable, and their counts would overwrite each other: a cell belongs to the cluster whose aggregator
 * beats.
 *
 * Two clusters are told apart by the UID of their namespace kube-system. Clones of one etcd snapshot have the same:
 * there it shows that the holder from before our term goes on beating for longer than an election could explain.
 */
import { type CellLease } from "../../api/cell-lease.ts";
import { type SilenceTimes } from "../../accounting/silence/silence-times.ts";
import { later, longAgo, type MonotonicMs } from "../../util/clock.ts";

export type Verdict =
  | { readonly kind: "ours" }
  /** The other cluster was silent for long enough, or a person gave us the cell: what is recorded is not ours. */
  | { readonly kind: "takeOver" }
  | { readonly kind: "held"; readonly by: "cluster" | "clone"; readonly lease: CellLease };

export interface CellClaimOptions {
  readonly identity: string;
  readonly times: Pick<SilenceTimes, "silentAfterMs" | "contactMs">;
  /** Longest that two leaders of one cluster may overlap; undefined = without election, any number may lead. */
  readonly overlapMs: number | undefined;
}

export class CellClaim {
  readonly #options: CellClaimOptions;
  #beat: string | undefined;
  /** Since when the Lease has not beaten, as far as it was looked at without a hole. */
  #unchangedSinceMs: MonotonicMs = longAgo;
  #observedAtMs: MonotonicMs = longAgo;
  /** The first look of this term. */
  #termAtMs: MonotonicMs | undefined;
  /** Who held the Lease before our first beat of this term. */
  #incumbent: string | undefined;
  #hasBeaten = false;
  /** We have found a clone, and leave the cell to it. Terms do not end that. */
  #yields = false;
  /** The last verdict, if it was that. */
  #held: Extract<Verdict, { kind: "held" }> | undefined;

  constructor(options: CellClaimOptions) {
    this.#options = options;
  }

  /** A term begins. */
  began(): void {
    this.#termAtMs = undefined;
    this.#incumbent = undefined;
    this.#hasBeaten = false;
  }

  /** What is recorded will be counted anew. Until then a cell that is to be taken over from a clone stays that. */
  takenOver(): void {
    if (!this.#yields) return;
    this.#yields = false;
    this.began();
  }

  /** Our beat was accepted. */
  beaten(lease: CellLease, nowMs: MonotonicMs): void {
    this.#see(lease, nowMs);
    this.#hasBeaten = true;
  }

  /** The Lease was read. `clusterUID` is that of our worker; undefined = not known. */
  observed(lease: CellLease | undefined, clusterUID: string | undefined, nowMs: MonotonicMs): Verdict {
    const verdict = this.#judge(lease, clusterUID, nowMs);
    this.#held = verdict.kind === "held" ? verdict : undefined;
    return verdict;
  }

  #judge(lease: CellLease | undefined, clusterUID: string | undefined, nowMs: MonotonicMs): Verdict {
    const lookedAtMs = this.#observedAtMs;
    const beatSinceMs = this.#see(lease, nowMs) ? lookedAtMs : undefined;
    this.#termAtMs ??= nowMs;
    if (lease === undefined) {
      if (this.#held === undefined) return { kind: "ours" };
      // Somebody has deleted it. A holder that is alive makes it again with its next beat.
      if (nowMs < later(this.#unchangedSinceMs, this.#options.times.contactMs)) return this.#held;
      this.#yields = false;
      return { kind: "takeOver" };
    }
    const isSilent = nowMs >= later(this.#unchangedSinceMs, this.#options.times.silentAfterMs);
    const isOtherCluster =
      clusterUID !== undefined && lease.clusterUID !== undefined && lease.clusterUID !== clusterUID;
    if (isOtherCluster) {
      if (isSilent || lease.adopt === clusterUID) return { kind: "takeOver" };
      return { kind: "held", by: "cluster", lease };
    }
    if (!this.#yields && !this.#isClone(lease, beatSinceMs)) return { kind: "ours" };
    this.#yields = true;
    return isSilent ? { kind: "takeOver" } : { kind: "held", by: "clone", lease };
  }

  /** `beatSinceMs`: the Lease has beaten since the look at this moment; undefined = it has not. */
  #isClone({ holderIdentity }: CellLease, beatSinceMs: MonotonicMs | undefined): boolean {
    const { identity, overlapMs } = this.#options;
    if (holderIdentity === identity || holderIdentity === "") return false;
    if (!this.#hasBeaten) this.#incumbent ??= holderIdentity;
    if (overlapMs === undefined || this.#termAtMs === undefined || beatSinceMs === undefined) return false;
    // Who comes later is the newcomer, and yields to us. A beat between a look of before and one of after the overlap
    // may be the last one of our predecessor.
    return holderIdentity === this.#incumbent && beatSinceMs >= later(this.#termAtMs, overlapMs);
  }

  /** Returns whether the Lease has beaten since the last look. */
  #see(lease: CellLease | undefined, nowMs: MonotonicMs): boolean {
    const hasHole = nowMs > later(this.#observedAtMs, this.#options.times.contactMs);
    const hasBeaten = lease?.beat !== this.#beat;
    if (hasBeaten || hasHole) this.#unchangedSinceMs = nowMs;
    this.#beat = lease?.beat;
    this.#observedAtMs = nowMs;
    return hasBeaten;
  }
}
