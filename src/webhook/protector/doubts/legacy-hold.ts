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
}

export class LegacyHold {
  readonly #holdMs: number;
  /** By cell and UID, the oldest first. */
  readonly #admissions = new Map<string, Admission>();

  constructor(holdMs: number) {
    this.#holdMs = holdMs;
  }

  /** A write that records the deletion of this pod, in a cell that a Go aggregator has counted, was accepted. */
  admitted(cellID: string, podUID: string, nowMs: MonotonicMs): void {
    const id = `${cellID}/${podUID}`;
    this.#admissions.delete(id);
    this.#admissions.set(id, { cellID, podUID, digest: digestOfUID(podUID), untilMs: later(nowMs, this.#holdMs) });
    const [oldest] = this.#admissions.keys();
    if (this.#admissions.size > rememberedMax && oldest !== undefined) this.#admissions.delete(oldest);
  }

  /** What has vanished from `cells`, the newest known state of all of them, and is not believed to be over. */
  held(cells: readonly CellStatus[], nowMs: MonotonicMs): HeldPods {
    const pods = new Map<string, Set<string>>();
    if (this.#admissions.size === 0) return pods;
    const countedByGo = cells.filter(({ aggregation }) => aggregation?.resourceVersion === undefined);
    const holders = new Map(countedByGo.map((cell) => [cell.cellID, holderOf(cell)]));
    for (const [id, admission] of this.#admissions) {
      const { cellID, podUID, untilMs } = admission;
      const holds = holders.get(cellID);
      if (untilMs <= nowMs || holds === undefined) this.#admissions.delete(id);
      else if (!holds(admission)) pods.set(cellID, (pods.get(cellID) ?? new Set()).add(podUID));
    }
    return pods;
  }
}

/** A pack whose digests a Go component has dropped looks as if its pods had vanished: they count twice for a while. */
function holderOf({ admissionHistory }: CellStatus): (admission: Admission) => boolean {
  const kinds = (admissionHistory?.buckets ?? []).map(bucketKind);
  const uids = new Set(kinds.flatMap((kind) => (kind.kind === "single" ? [kind.podUID] : [])));
  const packs = kinds.flatMap((kind) => (kind.kind === "packed" ? [kind.digests] : []));
  return ({ podUID, digest }) => uids.has(podUID) || packs.some((pack) => pack.has(digest));
}
