/**
 * Which counts of one PodProtector are not to be used, and until when (docs/accounting.md#counts-in-doubt). The list:
 *
 * | counts | until |
 * |---|---|
 * | that a restore of the core has lost (lost-counts.ts) | newer ones, or a recount |
 * | of a generation at or below the last one that had another counting selector | ones of a later generation |
 * | without a generation, and there already when an edit of the counting selector was seen | 75 s after that |
 * | without a generation, of an object that was made again under its name | 75 s after that was seen |
 *
 * What a Go aggregator drops from the history too soon is subtracted for a while (legacy-hold.ts). Counts without a
 * generation are those of Go aggregators and of earlier releases: nothing orders them and an edit, so time must do.
 */
import { isDeepStrictEqual } from "node:util";
import { countingSelector } from "../../../accounting/count/counting-selector.ts";
import { type RecountMarks } from "../../../accounting/count/recount-mark.ts";
import { type Doubt } from "../../../accounting/reserve/quota-figures.ts";
import { type CellStatus } from "../../../api/v1alpha1/pod-protector.ts";
import { type Clock, type MonotonicMs } from "../../../util/clock.ts";
import { type ProtectorView } from "../protector-view.ts";
import { LostCounts } from "./lost-counts.ts";

/**
 * The default of --aggregator-settle-window: what was let go under another selector, or admitted on a former object,
 * is carried out by then.
 */
export const undatedSettleMs = 75_000;

interface UndatedRow {
  readonly sinceMs: MonotonicMs;
  /** Undefined = all, of an object that was made again. */
  readonly cells: ReadonlySet<string> | undefined;
}

export class Doubts {
  readonly #clock: Clock;
  readonly #lost: LostCounts;
  /** The last generation that is known to have had another counting selector than the present one. */
  #otherGeneration = Number.NEGATIVE_INFINITY;
  #undated: UndatedRow | undefined;

  constructor(marks: RecountMarks, clock: Clock) {
    this.#lost = new LostCounts(marks);
    this.#clock = clock;
  }

  /** Why the counts of a cell of the newest state are not to be used; undefined = they are. */
  readonly of = ({ cellID, aggregation }: CellStatus): Doubt | undefined => {
    if (aggregation === undefined) return undefined;
    if (this.#lost.has(cellID, aggregation)) return "lost";
    if (aggregation.countedGeneration !== undefined)
      return aggregation.countedGeneration <= this.#otherGeneration ? "other-spec" : undefined;
    const row = this.#undatedRow;
    if (row === undefined) return undefined;
    if (row.cells === undefined) return "remade";
    return row.cells.has(cellID) ? "other-spec" : undefined;
  };

  /** `view` has replaced `before` as the newest state of the same object. */
  replaced(before: ProtectorView, view: ProtectorView): void {
    this.#lost.replaced(before, view);
    if (isEdited(before, view)) {
      this.#otherGeneration = generationOf(before);
      const cells = cellsCountedBefore(view);
      // What was made again a moment ago is in doubt as a whole.
      if (cells.size > 0 && !this.#isRemade) this.#undated = { sinceMs: this.#clock.monotonicMs(), cells };
    }
    // Generations of a restored core begin anew.
    this.#otherGeneration = Math.min(this.#otherGeneration, generationOf(view) - 1);
  }

  /** A live GET has shown that the core was restored; `known` was the newest state before. */
  restored(known: ProtectorView): void {
    this.#lost.restored(known);
    this.#otherGeneration = Number.NEGATIVE_INFINITY;
  }

  /**
   * Another object has taken the name. `isRemade`: the former was not let go, so that what was admitted on it may still
   * be carried out.
   */
  renewed(isRemade: boolean): void {
    this.#lost.clear();
    this.#otherGeneration = Number.NEGATIVE_INFINITY;
    this.#undated = isRemade ? { sinceMs: this.#clock.monotonicMs(), cells: undefined } : undefined;
  }

  get #undatedRow(): UndatedRow | undefined {
    const row = this.#undated;
    return row === undefined || this.#clock.monotonicMs() - row.sinceMs >= undatedSettleMs ? undefined : row;
  }

  get #isRemade(): boolean {
    const row = this.#undatedRow;
    return row !== undefined && row.cells === undefined;
  }
}

/** Whether the counting selectors differ, of two states of one object. */
function isEdited(before: ProtectorView, view: ProtectorView): boolean {
  if (before.spec === view.spec) return false;
  return !isDeepStrictEqual(countingSelector(before.protector.spec), countingSelector(view.protector.spec));
}

/** The cells of a state whose selector is new, but whose counts answer it already. A Go aggregator's do not say. */
function cellsCountedBefore(view: ProtectorView): ReadonlySet<string> {
  const cells = new Set<string>();
  for (const { cellID, aggregation } of view.protector.status?.cells ?? []) {
    if (aggregation?.countedSpec === undefined || aggregation.countedGeneration !== undefined) continue;
    if (view.spec.countedSpec.isAnsweredBy(aggregation)) cells.add(cellID);
  }
  return cells;
}

function generationOf({ protector }: ProtectorView): number {
  return protector.metadata.generation ?? 0;
}
