/**
 * Admissions while a core takes no writes, where --webhook-core-unavailable-policy=last-known asks for them. They are
 * lent from the quota of the newest known state and remembered here until a later status write records them.
 *
 * Nobody can compare and swap then, so each replica must assume that all others lend as much: an admission costs as
 * many units of quota as there are replicas. So all of them together lend no more than the quota that they last knew.
 */
import { compareResourceVersions, type ResourceVersion } from "../../api/resource-version.ts";
import { type CellStatus, type PodProtectorStatus } from "../../api/v1alpha1/pod-protector.ts";
import { type Verdict } from "../../accounting/reserve/reservation.ts";
import { type Deletion, type Judge } from "../protector/judge.ts";
import { type ProtectorView } from "../protector/protector-view.ts";

/**
 * What was lent of one PodProtector. Its size is bounded by what the histories of the cells hold
 * (accounting/history/record.ts).
 */
interface Ledger {
  readonly base: ProtectorView;
  /** The base as it would be if all that was lent were recorded. */
  pretended: ProtectorView;
  /** By cell, UID and operation; forced, because they have been answered. */
  readonly deletions: Map<string, Deletion>;
}

/** Stands in the figures of a decision for what the other replicas may have lent. No cell ID holds a space. */
const othersCellID = "other webhook replicas";

export class LastKnownQuota {
  readonly #judge: Judge;
  readonly #replicas: number;
  readonly #ledgers = new Map<string, Ledger>();

  /** `replicas`: webhooks that may lend from one PodProtector, at least 1. */
  constructor(judge: Judge, replicas: number) {
    this.#judge = judge;
    this.#replicas = replicas;
  }

  /** What was lent and is not recorded yet. `key` as of `writerKey`. */
  lentOf(key: string): readonly Deletion[] {
    return [...(this.#ledgers.get(key)?.deletions.values() ?? [])];
  }

  /** All that was lent is recorded, or has no say any more. */
  forget(key: string): void {
    this.#ledgers.delete(key);
  }

  /** Judges `deletions`, all counted by `view`, in the order given; what is admitted is lent. */
  lend(
    key: string,
    view: ProtectorView,
    countsLostUpTo: ReadonlyMap<string, ResourceVersion>,
    deletions: readonly Deletion[],
  ): readonly Verdict[] {
    const ledger = this.#ledgerOn(key, view, countsLostUpTo);
    return deletions.flatMap((deletion) => {
      const { cellID, pod, operation } = deletion;
      const id = `${cellID}/${pod.uid}/${operation}`;
      // A repeated review costs no more, but is judged by the same rule: pods may have failed by themselves since.
      const known = ledger.deletions.get(id);
      const othersLent = (this.#replicas - 1) * (ledger.deletions.size + (known === undefined ? 1 : 0));
      const state = withOthers(ledger.pretended, othersLent);
      const { verdicts, status } = this.#judge(state, countsLostUpTo, [deletion]);
      if (status !== undefined) {
        // Of one pod, the deletion with the highest version is the one to record (design 2.2).
        if (known === undefined || isLater(deletion, known)) ledger.deletions.set(id, { ...deletion, isForced: true });
        ledger.pretended = withStatus(ledger.pretended, withoutOthers(status));
        this.#ledgers.set(key, ledger);
      }
      return verdicts;
    });
  }

  #ledgerOn(key: string, view: ProtectorView, countsLostUpTo: ReadonlyMap<string, ResourceVersion>): Ledger {
    const known = this.#ledgers.get(key);
    if (known?.base === view) return known;
    const deletions = known?.deletions ?? new Map<string, Deletion>();
    const { status } = this.#judge(view, countsLostUpTo, [...deletions.values()]);
    return { base: view, pretended: status === undefined ? view : withStatus(view, status), deletions };
  }
}

function isLater({ pod }: Deletion, other: Deletion): boolean {
  return compareResourceVersions(pod.resourceVersion, other.pod.resourceVersion) > 0;
}

function withStatus(view: ProtectorView, status: PodProtectorStatus): ProtectorView {
  return { ...view, protector: { ...view.protector, status } };
}

function withOthers(view: ProtectorView, counter: number): ProtectorView {
  const { status } = view.protector;
  if (counter === 0 || status === undefined) return view;
  const others: CellStatus = { cellID: othersCellID, admissionHistory: { buckets: [{ startTime: "", counter }] } };
  return withStatus(view, { ...status, cells: [...status.cells, others] });
}

function withoutOthers(status: PodProtectorStatus): PodProtectorStatus {
  return { ...status, cells: status.cells.filter(({ cellID }) => cellID !== othersCellID) };
}
