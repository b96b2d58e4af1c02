/**
 * Marks silent cells (docs/accounting.md#silent-cells): the leading generator writes since when a cell is silent on its
 * Lease. A webhook that starts in the outage believes the mark, and the next beat clears it. The generator's own Lease
 * beats only after all silent cells were marked, so that its beat says that whoever has no mark is not silent.
 *
 * A new leader that has not observed for long needs the time of --silent-cell-after before it can mark. Two leaders at
 * once do no harm: each mark holds only for the version of the Lease without a beat.
 */
import { cellLeaseAnnotations, type CellLease } from "../../api/cell-lease.ts";
import { formatMicroTime } from "../../api/micro-time.ts";
import { type ObservedCell } from "../../accounting/silence/cell-silence.ts";
import { type EventRecorder } from "../../kube/event-recorder.ts";
import { type Clock, type EpochMicros } from "../../util/clock.ts";
import { type CellLeaseWrites } from "./cell-lease-writes.ts";

export interface SilentCellMarksOptions {
  readonly writes: CellLeaseWrites;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly silentAfterMs: number;
}

export class SilentCellMarks {
  readonly #options: SilentCellMarksOptions;
  /** Cells that were seen silent, so that their return is told. At most those that the observer tells apart. */
  readonly #silent = new Set<string>();

  constructor(options: SilentCellMarksOptions) {
    this.#options = options;
  }

  /** Brings marks, Events and the generator's own Lease up to what the newest LIST has shown. Never rejects. */
  async update(cells: readonly ObservedCell[], signal: AbortSignal): Promise<void> {
    for (const cell of cells) {
      this.#noteReturn(cell);
      // Others wait for the next round as well, and so does the beat: the core is in trouble, or the right is missing.
      if (!(await this.#mark(cell, signal))) return;
    }
    if (!signal.aborted) await this.#options.writes.renewObserver(signal);
  }

  /** False when the mark is due and could not be written. */
  async #mark(cell: ObservedCell, signal: AbortSignal): Promise<boolean> {
    const { lease } = cell;
    if (lease === undefined || cell.silentSince === undefined) return true;
    const { writes, clock, silentAfterMs } = this.#options;
    if (isCountedByOther(cell)) {
      // A webhook that starts now would believe the mark, and leave out what the other one counts.
      if (lease.silentSince === undefined) return true;
      return (await writes.annotate(lease, cellLeaseAnnotations.silentSince, null, signal)) !== "failed";
    }
    this.#silent.add(cell.cellID);
    const unheardMs = clock.monotonicMs() - cell.silentSince;
    // What was found silent when this process started is a guess, by shorter times.
    if (lease.silentSince !== undefined || unheardMs < silentAfterMs) return true;
    const since = formatMicroTime((clock.epochMicros() - Math.round(unheardMs * 1000)) as EpochMicros);
    const written = await writes.annotate(lease, cellLeaseAnnotations.silentSince, since, signal);
    if (written === "written") this.#recordSilence(lease, cell.cellID, since);
    return written !== "failed";
  }

  #recordSilence(lease: CellLease, cellID: string, since: string): void {
    const { writes, events } = this.#options;
    events.record(
      writes.reference(lease),
      "Warning",
      "CellSilent",
      `Nothing has been heard from the aggregator of cell "${cellID}" since ${since}. With ` +
        "--silent-cell-policy=zero its pods count for nothing, and deletions in it that need quota are refused. " +
        `Planned? Annotate this Lease with ${cellLeaseAnnotations.keepUntil}=<RFC 3339 time>. ` +
        `Gone for good? Annotate it with ${cellLeaseAnnotations.forget}=true.`,
    );
  }

  #noteReturn({ cellID, lease, silentSince }: ObservedCell): void {
    const { writes, events } = this.#options;
    if (silentSince !== undefined || !this.#silent.delete(cellID) || lease === undefined) return;
    events.record(writes.reference(lease), "Normal", "CellHeard", `Cell "${cellID}" is heard again, its pods count`);
  }
}

function isCountedByOther({ state }: ObservedCell): boolean {
  return state.kind === "keep" && state.reason === "other-counter";
}
