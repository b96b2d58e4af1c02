/**
 * Own admissions from one PodProtector that a Go aggregator has dropped from the history too soon to be believed
 * (docs/webhook.md#cells-that-a-go-aggregator-counts). Such an aggregator compares clocks: any event newer than an
 * admission makes it forget that one, although its late watch may not have shown the deletion. So for a while after an
 * admission, what has vanished goes on being subtracted.
 *
 * Which aggregator has dropped it, the counts of the same write tell: ours name their snapshot.
 */
import { type CellStatus } from "../../../api/v1alpha1/pod-protector.ts";
import { bucketKind } from "../../../accounting/history/bucket.ts";
import { digestOfUID } from "../../../accounting/history/uid-digest.ts";
import { type HeldPods } from "../../../accounting/reserve/quota-figures.ts";
import { later, type MonotonicMs } from "../../../util/clock.ts";

/**
 * Admissions remembered for one PodProtector, a megabyte: a thousand a second for the default of ten seconds, which no
 * workload's controllers ask for. Beyond it the oldest are forgotten, which is upstream's behaviour.
 */
const rememberedMax = 10_000;

interface Admission {
  readonly cellID: string;
  readonly podUID: string;
  readonly digest: string;
  readonly untilMs: MonotonicMs;
  hasVanished: boolean;
}

const nothing: HeldPods = new Map();

export class LegacyHold {
  readonly #holdMs: number;
  /** By cell and UID, the oldest first. */
  readonly #admissions = new Map<string, Admission>();
  /** What `held` has answered, and until when it holds. */
  #held: { readonly pods: HeldPods; readonly untilMs: number } | undefined;

  constructor(holdMs: number) {
    this.#holdMs = holdMs;
  }

  /** A write that records the deletion of this pod, in a cell that a Go aggregator has counted, was accepted. */
  admitted(cellID: string, podUID: string, nowMs: MonotonicMs): void {
    const id = `${cellID}/${podUID}`;
    this.#admissions.delete(id);
    const untilMs = later(nowMs, this.#holdMs);
    this.#admissions.set(id, { cellID, podUID, digest: digestOfUID(podUID), untilMs, hasVanished: false });
    const [oldest] = this.#admissions.keys();
    if (this.#admissions.size > rememberedMax && oldest !== undefined) this.#admissions.delete(oldest);
    this.#held = undefined;
  }

  /** The newest known state of all cells. */
  observe(cells: readonly CellStatus[], nowMs: MonotonicMs): void {
    this.#expire(nowMs);
    if (this.#admissions.size === 0) return;
    const holders = new Map(cells.map((cell) => [cell.cellID, holderOf(cell)]));
    for (const [id, admission] of this.#admissions) {
      const holder = holders.get(admission.cellID);
      if (holder?.holds(admission) === true) admission.hasVanished = false;
      else if (holder === undefined || holder.isOurs) this.#admissions.delete(id);
      else admission.hasVanished = true;
    }
    this.#held = undefined;
  }

  held(nowMs: MonotonicMs): HeldPods {
    if (this.#admissions.size === 0) return nothing;
    if (this.#held === undefined || nowMs >= this.#held.untilMs) {
      this.#expire(nowMs);
      this.#held = this.#answer();
    }
    return this.#held.pods;
  }

  #answer(): { readonly pods: HeldPods; readonly untilMs: number } {
    const pods = new Map<string, Set<string>>();
    let untilMs = Number.POSITIVE_INFINITY;
    for (const { cellID, podUID, hasVanished, untilMs: until } of this.#admissions.values()) {
      if (!hasVanished) continue;
      untilMs = Math.min(untilMs, until);
      const ofCell = pods.get(cellID);
      if (ofCell === undefined) pods.set(cellID, new Set([podUID]));
      else ofCell.add(podUID);
    }
    return { pods, untilMs };
  }

  /** All are held for the same time, so the oldest are over first. */
  #expire(nowMs: MonotonicMs): void {
    for (const [id, { untilMs }] of this.#admissions) {
      if (untilMs > nowMs) return;
      this.#admissions.delete(id);
      this.#held = undefined;
    }
  }
}

interface Holder {
  /** The counts name their snapshot, so the buckets were settled by it. */
  readonly isOurs: boolean;
  readonly holds: (admission: Admission) => boolean;
}

/** A pack whose digests a Go component has dropped looks as if its pods had vanished: they count twice for a while. */
function holderOf(cell: CellStatus): Holder {
  const uids = new Set<string>();
  const kinds = (cell.admissionHistory?.buckets ?? []).map(bucketKind);
  for (const kind of kinds) if (kind.kind === "single") uids.add(kind.podUID);
  const packs = kinds.flatMap((kind) => (kind.kind === "packed" ? [kind.digests] : []));
  return {
    isOurs: cell.aggregation?.resourceVersion !== undefined,
    holds: ({ podUID, digest }) => uids.has(podUID) || packs.some((pack) => pack.has(digest)),
  };
}
