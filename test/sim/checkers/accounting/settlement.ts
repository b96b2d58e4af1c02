/**
 * Settled admissions: nothing leaves a history but by a row of the settlement table
 * (docs/accounting.md#settlement), and nobody is counted
 * whose admitted deletion may still happen.
 */
import { type Aggregation, type CellStatus } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { type HistoryEntry } from "./history.ts";
import { type FormerHistory, type Ledger, type TruePod } from "./ledger.ts";
import { type Standing } from "./standing.ts";

/** Clocks drift by less than a hundredth, and a bucket is first seen a moment after it was written. */
const windowTolerance = 0.98;

export interface SettlementOptions {
  readonly ledger: Ledger;
  readonly settleWindowMs: number;
  /** Aggregators remember so few fences that pods settle by the window alone (processes/small-limits.ts). */
  readonly hasFewFences: boolean;
  /** Set where deletions are admitted without a record, as promised. */
  readonly lent: object | undefined;
}

/** An admission that has left its history by the snapshot of that revision. */
interface Settled {
  readonly pod: TruePod;
  readonly revision: number;
  readonly recordedMs: number | undefined;
  /** By row 7 of the table. */
  readonly isByWindow: boolean;
}

export class SettlementChecker {
  readonly #name: string;
  readonly #standing: Standing;
  readonly #ledger: Ledger;
  readonly #windowMs: number;
  readonly #isLent: boolean;
  readonly #hasFewFences: boolean;

  constructor(name: string, standing: Standing, { ledger, settleWindowMs, hasFewFences, lent }: SettlementOptions) {
    this.#hasFewFences = hasFewFences;
    this.#isLent = lent !== undefined;
    this.#name = name;
    this.#standing = standing;
    this.#ledger = ledger;
    this.#windowMs = settleWindowMs * windowTolerance;
  }

  /**
   * An entry is gone: its row of the settlement table must hold for the snapshot of the same write. `recorded`: the
   * commit that recorded or refreshed it last, and the version that the pod was admitted at.
   */
  settled(
    entry: HistoryEntry,
    recorded: { readonly atMs: number; readonly version: string | undefined } | undefined,
    cell: CellStatus,
  ): void {
    const recordedMs = recorded?.atMs;
    const ledger = this.#ledger;
    const { kernel } = ledger;
    const pod = ledger.byDigest.get(entry.digest);
    const revision = Number(cell.aggregation?.resourceVersion ?? Number.NaN);
    if (pod === undefined || Number.isNaN(revision)) return;
    const former = ledger.formerOf(cell.cellID);
    if (former.some((history) => this.#isVersionOf(history, entry, recordedMs))) return;
    if (former.some((history) => ledger.mayBeUnnoticed(history) && this.#isSettledIn(history, entry, revision))) return;
    const record = ledger.at(pod, revision);
    const ageMs = kernel.nowMs - (recordedMs ?? Number.NEGATIVE_INFINITY);
    // A fence moves the pod above the version that it was admitted at, but not always above that of later companions in
    // a packed bucket.
    const version = (entry.isPacked ? recorded?.version : undefined) ?? entry.version;
    const isUntouched =
      record?.isTerminating === false &&
      version !== undefined &&
      (entry.isEvicted
        ? !ledger.isFenced(pod, recordedMs, revision)
        : Number(record.resourceVersion) <= Number(version));
    // Its fences have failed for a settle window, although its aggregator could write to the worker.
    const isGivenUp =
      isUntouched &&
      ageMs >= this.#windowMs &&
      recordedMs !== undefined &&
      (this.#hasFewFences || ledger.hasWrittenSince(pod.cell, recordedMs));
    const isByWindow = entry.version === undefined || isGivenUp;
    this.#checkDead(entry, { pod, revision, recordedMs, isByWindow });
    if (record === undefined && pod.goneAt !== undefined && pod.goneAt <= revision) return;
    if (record?.isTerminating === true) return;
    if (record !== undefined && version !== undefined && !isUntouched) return;
    if (isByWindow && ageMs >= this.#windowMs) return;
    const state = record === undefined ? "not there yet" : `alive at ${record.resourceVersion}`;
    kernel.fail(
      `${this.#name}: the admission of ${pod.name} (version ${entry.version}, ${Math.round(ageMs)} ms ` +
        `old) is settled by snapshot ${revision}, where it is ${state}`,
    );
  }

  /** Without a floor admissions are recorded only where that can be done, which it cannot while the core is away. */
  get #isBestEffort(): boolean {
    return this.#isLent || (this.#standing.object?.spec.minAvailable ?? 0) <= 0;
  }

  /** Nobody is counted who is admitted for deletion and in no history. */
  counted(counts: Aggregation, cellID: string, open: ReadonlySet<string>): void {
    const ledger = this.#ledger;
    const { kernel } = ledger;
    const standing = this.#standing;
    if (this.#isBestEffort) return;
    for (const pod of ledger.pods.values()) {
      if (pod.cell !== cellID || open.has(pod.digest) || !standing.isCounted(pod, counts)) continue;
      const doom = ledger.doomOf(pod);
      if (doom === undefined || !standing.hasJudged(doom) || !standing.meets(pod)) continue;
      // It has settled in a history that is over, and the pod is back.
      if (ledger.formerOf(cellID).some(({ endedAtMs }) => endedAtMs >= doom.atMs)) continue;
      if (doom.labels !== pod.versions.at(-1)?.record.labels) continue;
      if (kernel.nowMs - doom.atMs >= this.#windowMs && ledger.exclusions.excuses("late commit", doom.atMs)) continue;
      kernel.fail(`${this.#name}: ${pod.name} is counted, admitted for deletion, and in no history`);
    }
  }

  /** A version that the restore took away: it proves and needs nothing. */
  #isVersionOf(
    { endedAtMs, forkRevision }: FormerHistory,
    entry: HistoryEntry,
    recordedMs: number | undefined,
  ): boolean {
    return endedAtMs > (recordedMs ?? Number.NEGATIVE_INFINITY) && Number(entry.version) > forkRevision;
  }

  /** The snapshot of that revision shows that the admission has been used, or can be used no more. */
  #isSettledIn({ pods }: FormerHistory, entry: HistoryEntry, revision: number): boolean {
    const pod = pods.find(({ digest }) => digest === entry.digest);
    if (pod === undefined) return false;
    const record = this.#ledger.at(pod, revision);
    if (record === undefined) return pod.goneAt !== undefined && pod.goneAt <= revision;
    if (record.isTerminating) return true;
    return entry.version !== undefined && Number(record.resourceVersion) > Number(entry.version);
  }

  /**
   * A settled admission can no longer commit, or has committed in the snapshot; an eviction may after the settle
   * window.
   */
  #checkDead(entry: HistoryEntry, { pod, revision, recordedMs, isByWindow }: Settled): void {
    const ledger = this.#ledger;
    const { kernel } = ledger;
    const standing = this.#standing;
    if (recordedMs === undefined) return;
    const windowEndMs = recordedMs + this.#windowMs;
    const record = ledger.at(pod, revision);
    // The barrier was made after the window, or, for a pod that is absent, after the record.
    const covered = ledger.revisionAt(pod.cell, record === undefined ? recordedMs : windowEndMs);
    if (isByWindow && record?.isTerminating !== true && revision < covered) {
      kernel.fail(
        `${this.#name}: the admission of ${pod.name} is settled by snapshot ${revision}, which lacks ` +
          `what was committed up to ${covered}`,
      );
    }
    // Of an eviction beside it there may be no record.
    if (this.#isBestEffort || !standing.meets(pod) || !standing.hasJudged(ledger.doomOf(pod))) return;
    if (isByWindow && kernel.nowMs >= windowEndMs && ledger.exclusions.excuses("late commit", recordedMs)) return;
    kernel.fail(
      `${this.#name}: the admission of ${pod.name} (version ${entry.version}) is settled, but it may still happen`,
    );
  }
}
