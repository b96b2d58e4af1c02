/**
 * Which counts of one PodProtector are not to be used, and until when (docs/accounting.md#counts-in-doubt). The list:
 *
 * | counts | until |
 * |---|---|
 * | that a restore of the core has lost, or brought back (lost-counts.ts) | newer ones, or a recount |
 * | of a generation at or below the last one that had another counting selector | ones of a later generation |
 * | without a generation, after an edit of the counting selector | 75 s after that was seen |
 * | without a generation, of an object that was made again under its name | 75 s after that was seen |
 * | that may hold foreign pods, let go without a record before (begun-owners.ts) | 75 s after that was seen |
 *
 * What a Go aggregator drops from the history too soon is subtracted for a while (legacy-hold.ts). Counts without a
 * generation are those of Go aggregators and of earlier releases: nothing orders them and an edit, so time must do.
 */
import { isDeepStrictEqual } from "node:util";
import { countingSelector } from "../../../accounting/count/counting-selector.ts";
import { type RecountMarks } from "../../../accounting/count/recount-mark.ts";
import { type Doubt } from "../../../accounting/reserve/quota-figures.ts";
import { type CellStatus, isOlder } from "../../../api/v1alpha1/pod-protector.ts";
import { type Clock, type MonotonicMs } from "../../../util/clock.ts";
import { type ProtectorView } from "../protector-view.ts";
import { BegunOwners } from "./begun-owners.ts";
import { LostCounts } from "./lost-counts.ts";

/**
 * The default of --aggregator-settle-window: what was let go under another selector, or admitted on a former object,
 * is carried out by then.
 */
export const undatedSettleMs = 75_000;

export class Doubts {
  readonly #clock: Clock;
  readonly #lost: LostCounts;
  readonly #begunOwners = new BegunOwners();
  /** The last generation that is known to have had another counting selector than the present one. */
  #otherGeneration = Number.NEGATIVE_INFINITY;
  /** Why counts without a generation were put in doubt last. */
  #undated: { readonly why: "other-spec" | "remade"; readonly sinceMs: MonotonicMs } | undefined;

  constructor(marks: RecountMarks, clock: Clock) {
    this.#lost = new LostCounts(marks);
    this.#clock = clock;
  }

  /** Why the counts of a cell of the newest state are not to be used; undefined = they are. */
  readonly of = ({ cellID, aggregation }: CellStatus): Doubt | undefined => {
    if (aggregation === undefined) return undefined;
    if (this.#lost.has(cellID, aggregation)) return "lost";
    const nowMs = this.#clock.monotonicMs();
    if (this.#begunOwners.areIn(cellID, aggregation, nowMs, undatedSettleMs)) return "other-spec";
    const { countedGeneration, countedSpec } = aggregation;
    if (countedGeneration !== undefined) return countedGeneration <= this.#otherGeneration ? "other-spec" : undefined;
    const why = this.#whyUndated();
    // Those of a Go aggregator do not say what they answer.
    return why === "other-spec" && countedSpec === undefined ? undefined : why;
  };

  /** `view` has replaced `before` as the newest state of the same object. */
  replaced(before: ProtectorView, view: ProtectorView): void {
    this.#lost.replaced(before, view);
    this.#begunOwners.replaced(before, this.#clock.monotonicMs());
    if (isEdited(before, view)) {
      this.#otherGeneration = generationOf(before);
      // What was made again a moment ago is in doubt for that.
      if (this.#whyUndated() !== "remade") this.#undated = { why: "other-spec", sinceMs: this.#clock.monotonicMs() };
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
   * Another object has taken the name of `former`, which was not let go: what was admitted on that may still be carried
   * out. An older one comes from a backup of the core: its counts lack what has happened since.
   */
  renewed(former: ProtectorView, view: ProtectorView): void {
    this.#lost.clear();
    this.#otherGeneration = Number.NEGATIVE_INFINITY;
    this.#undated = { why: "remade", sinceMs: this.#clock.monotonicMs() };
    if (!isOlder(view.protector.metadata, former.protector.metadata)) return;
    this.#lost.restored(former);
    this.#lost.restored(view);
  }

  #whyUndated(): Doubt | undefined {
    const undated = this.#undated;
    if (undated === undefined || this.#clock.monotonicMs() - undated.sinceMs >= undatedSettleMs) return undefined;
    return undated.why;
  }
}

/** Whether the counting selectors differ, of two states of one object. */
function isEdited(before: ProtectorView, view: ProtectorView): boolean {
  if (before.spec === view.spec) return false;
  return !isDeepStrictEqual(countingSelector(before.protector.spec), countingSelector(view.protector.spec));
}

function generationOf({ protector }: ProtectorView): number {
  return protector.metadata.generation ?? 0;
}
