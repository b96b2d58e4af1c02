/**
 * Admissions from one PodProtector while its core takes no writes, where --webhook-core-unavailable-policy=last-known
 * asks for them. They are admitted on the quota of the newest known state, and remembered here until a later status
 * write records them (docs/decisions/0007-last-known-quota.md).
 *
 * No replica can compare and swap then, so each must assume that all others admit as much: an admission costs as many
 * units of quota as there are replicas. So all of them together admit no more than the quota that they last knew.
 */
import { type Reservation, type Verdict } from "../../accounting/reserve/reservation.ts";
import { compareResourceVersions } from "../../api/resource-version.ts";
import { type CellStatus, type PodProtectorStatus } from "../../api/v1alpha1/pod-protector.ts";
import { type Deletion } from "../deletion.ts";

type Status = PodProtectorStatus | undefined;

/** Judges by the present spec as if the object had this status; all `deletions` are counted. */
export type JudgeByStatus = (status: Status, deletions: readonly Deletion[]) => Reservation;

/** Stands in the figures of a decision for what the other replicas may have admitted. No cell ID holds a space. */
const othersCellID = "other webhook replicas";

const none: readonly Deletion[] = [];

export class LastKnownQuota {
  readonly #replicas: number;
  /** By cell, UID and operation; forced, because they have been answered. Bounded by what the histories hold. */
  readonly #deletions = new Map<string, Deletion>();
  /** The newest known status that deletions were judged by, and the same as if all of them were recorded. */
  #base: Status;
  #pretended: Status;

  /** `replicas`: webhooks that may admit from the PodProtector at the same time, at least 1. */
  constructor(replicas: number) {
    this.#replicas = replicas;
  }

  /** What was admitted and is not recorded yet. */
  get unrecorded(): readonly Deletion[] {
    return this.#deletions.size === 0 ? none : [...this.#deletions.values()];
  }

  /** Judges `deletions`, in the order given, by the newest known `status`; remembers what is admitted. */
  admit(status: Status, judge: JudgeByStatus, deletions: readonly Deletion[]): readonly Verdict[] {
    this.#rebase(status, judge);
    return deletions.flatMap((deletion) => {
      const { cellID, pod, operation } = deletion;
      const id = `${cellID}/${pod.uid}/${operation}`;
      // A repeated review costs no more, but is judged by the same rule: pods may have failed by themselves since.
      const known = this.#deletions.get(id);
      const byOthers = (this.#replicas - 1) * (this.#deletions.size + (known === undefined ? 1 : 0));
      const { verdicts, status: recorded } = judge(withOthers(this.#pretended, byOthers), [deletion]);
      if (recorded !== undefined) {
        // Of one pod, the deletion with the highest version is the one to record (docs/accounting.md#what-is-recorded).
        if (known === undefined || isLater(deletion, known)) this.#deletions.set(id, { ...deletion, isForced: true });
        this.#pretended = withoutOthers(recorded);
      }
      return verdicts;
    });
  }

  #rebase(status: Status, judge: JudgeByStatus): void {
    if (status === this.#base && this.#pretended !== undefined) return;
    this.#base = status;
    this.#pretended = judge(status, this.unrecorded).status ?? status;
  }
}

function isLater({ pod }: Deletion, other: Deletion): boolean {
  return compareResourceVersions(pod.resourceVersion, other.pod.resourceVersion) > 0;
}

function withOthers(status: Status, counter: number): Status {
  if (counter === 0 || status === undefined) return status;
  const others: CellStatus = { cellID: othersCellID, admissionHistory: { buckets: [{ startTime: "", counter }] } };
  return { ...status, cells: [...status.cells, others] };
}

function withoutOthers(status: PodProtectorStatus): PodProtectorStatus {
  return { ...status, cells: status.cells.filter(({ cellID }) => cellID !== othersCellID) };
}
