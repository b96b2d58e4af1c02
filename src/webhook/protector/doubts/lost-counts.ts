/**
 * Which counts of one PodProtector a restore of its core has lost (docs/accounting.md#restores). The core was restored
 * when a live GET shows a lower version than was known, or when a newer state has counts of a lower worker version,
 * even if the object was written since. Counts at or below the highest worker version seen are then "not there", until
 * newer ones arrive, or a recount (accounting/count/recount-mark.ts).
 */
import { type RecountMarks } from "../../../accounting/count/recount-mark.ts";
import { compareResourceVersions, type ResourceVersion } from "../../../api/resource-version.ts";
import { type Aggregation } from "../../../api/v1alpha1/pod-protector.ts";
import { type ProtectorView } from "../protector-view.ts";

interface KnownCounts {
  readonly version: ResourceVersion;
  readonly aggregation: Aggregation;
}

export class LostCounts {
  readonly #marks: RecountMarks;
  /** By cell: counts at or below that worker version are not there. */
  readonly #lost = new Map<string, KnownCounts>();

  constructor(marks: RecountMarks) {
    this.#marks = marks;
  }

  /** Whether the counts of a cell, in the newest state, are not there. */
  has(cellID: string, { resourceVersion }: Aggregation): boolean {
    const lost = this.#lost.get(cellID);
    if (lost === undefined) return false;
    return resourceVersion === undefined || compareResourceVersions(resourceVersion, lost.version) <= 0;
  }

  /** A live GET has shown that the core was restored; `known` was the newest state before. */
  restored(known: ProtectorView): void {
    for (const [cellID, counts] of countsOf(known)) this.#lose(cellID, counts);
  }

  /** `view` has replaced `before` as the newest state of the object. */
  replaced(before: ProtectorView, view: ProtectorView): void {
    const known = countsOf(before);
    for (const [cellID, counts] of countsOf(view)) {
      const lost = this.#lost.get(cellID);
      if (lost !== undefined && this.#isLaterCount(lost, counts)) this.#lost.delete(cellID);
      const previous = known.get(cellID);
      if (previous !== undefined && previous.version !== counts.version && !this.#isLaterCount(previous, counts))
        this.#lose(cellID, previous);
    }
  }

  /** Another object has taken the name. */
  clear(): void {
    this.#lost.clear();
  }

  /** Remembers the later one of what is known to be lost. */
  #lose(cellID: string, counts: KnownCounts): void {
    const lost = this.#lost.get(cellID);
    if (lost === undefined || this.#isLaterCount(lost, counts)) this.#lost.set(cellID, counts);
  }

  /** Whether `counts` were written knowing of `known`, or without need to. */
  #isLaterCount(known: KnownCounts, counts: KnownCounts): boolean {
    return (
      compareResourceVersions(counts.version, known.version) > 0 ||
      this.#marks.isRecountedSince(known.aggregation, counts.aggregation)
    );
  }
}

/** By cell; without those that a Go aggregator counted. */
function countsOf(view: ProtectorView): Map<string, KnownCounts> {
  const counts = new Map<string, KnownCounts>();
  for (const { cellID, aggregation } of view.protector.status?.cells ?? []) {
    const version = aggregation?.resourceVersion;
    if (aggregation !== undefined && version !== undefined) counts.set(cellID, { version, aggregation });
  }
  return counts;
}
