/**
 * Tells people of annotations on the Lease of a cell that cannot be read, and so count as absent: an Event on the Lease
 * for what is new. Otherwise they would learn it when the cell is refused.
 */
import { ignoredAnnotationText } from "../../api/ignored-annotation.ts";
import { type ObservedCell } from "../../accounting/silence/cell-silence.ts";
import { type EventRecorder } from "../../kube/event-recorder.ts";
import { type CellLeaseWrites } from "./cell-lease-writes.ts";

export interface IgnoredAnnotationsOptions {
  readonly writes: Pick<CellLeaseWrites, "reference">;
  readonly events: Pick<EventRecorder, "record">;
}

export class IgnoredAnnotations {
  readonly #options: IgnoredAnnotationsOptions;
  /** What stands on the Leases now and was told. */
  #told: ReadonlySet<string> = new Set();

  constructor(options: IgnoredAnnotationsOptions) {
    this.#options = options;
  }

  /** Call after each LIST, with all cells. */
  update(cells: readonly ObservedCell[]): void {
    const { events, writes } = this.#options;
    const told = new Set<string>();
    for (const { lease } of cells) {
      if (lease === undefined || lease.ignored.length === 0) continue;
      // One Event for all of a Lease, since Events of one reason about one object are counted in one.
      const message = lease.ignored.map(ignoredAnnotationText).join(". ");
      const what = `${lease.uid} ${message}`;
      if (!this.#told.has(what)) events.record(writes.reference(lease), "Warning", "AnnotationIgnored", message);
      told.add(what);
    }
    this.#told = told;
  }
}
