/**
 * Counts from before an edit of the counting selector that was undone (docs/accounting.md#edits-that-are-undone). While
 * the selector was another one, pods that only the present one counts could be deleted without a record. If a cell has
 * not counted by that other selector, its old counts answer the present one again, and may still have these pods.
 */
import { isDeepStrictEqual } from "node:util";
import { countingSelector } from "../../../accounting/count/counting-selector.ts";
import { type MonotonicMs } from "../../../util/clock.ts";
import { type ProtectorView } from "../protector-view.ts";

/**
 * The settle window: what was let go under the other selector is carried out by then, and a cell that is not silent has
 * seen it, and has counted since.
 */
export const editedBackSettleMs = 75_000;

/** The last edit of a PodProtector's counting selector, as far as it brought back counts that were there before. */
export interface EditedBack {
  readonly atMs: MonotonicMs;
  /** The cells whose counts are in doubt. */
  readonly cells: ReadonlySet<string>;
}

/** Whether the counting selectors differ, of two states of one object. */
export function isEdited(before: ProtectorView, view: ProtectorView): boolean {
  if (before.spec === view.spec) return false;
  return !isDeepStrictEqual(countingSelector(before.protector.spec), countingSelector(view.protector.spec));
}

/** The cells of a state whose selector is new, but whose counts answer it already. A Go aggregator's do not say. */
export function cellsCountedBefore(view: ProtectorView): ReadonlySet<string> {
  const cells = new Set<string>();
  for (const { cellID, aggregation } of view.protector.status?.cells ?? []) {
    if (aggregation?.countedSpec !== undefined && view.spec.countedSpec.isAnsweredBy(aggregation)) cells.add(cellID);
  }
  return cells;
}
