/**
 * Counts of one PodProtector that may hold foreign pods again, in a cell where these were let go without a record until
 * a moment ago (docs/accounting.md#foreign-pods): an aggregator of an earlier release has taken over, which leaves out
 * nothing. Such counts are not used until what was let go is carried out. An aggregator of our own release has waited
 * as long before it counts them.
 */
import { foreignIn } from "../../../accounting/count/foreign-owners.ts";
import { type Aggregation } from "../../../api/v1alpha1/pod-protector.ts";
import { later, type MonotonicMs } from "../../../util/clock.ts";
import { type ProtectorView } from "../protector-view.ts";

interface LetGo {
  /** Of the counts that left them out: the same ones without the field, as another CRD shows them, hold none. */
  readonly version: string | undefined;
  /** By a state that was the newest one until then. */
  readonly untilMs: MonotonicMs;
}

export class BegunOwners {
  /** By cell, and kind of controller. */
  readonly #letGo = new Map<string, Map<string, LetGo>>();

  /** Whether the counts of the cell may hold pods that were let go within the last `settleMs`. */
  areIn(cellID: string, counts: Aggregation, nowMs: MonotonicMs, settleMs: number): boolean {
    const { resourceVersion, countedOwners = [] } = counts;
    // What a Go component has counted, or stripped, is as exact as upstream.
    if (resourceVersion === undefined) return false;
    return Array.from(this.#letGo.get(cellID) ?? []).some(
      ([kind, { version, untilMs }]) =>
        !countedOwners.includes(kind) && resourceVersion !== version && nowMs < later(untilMs, settleMs),
    );
  }

  /** A newer state has taken the place of `before`. */
  replaced({ protector }: ProtectorView, nowMs: MonotonicMs): void {
    for (const { cellID, aggregation } of protector.status?.cells ?? []) {
      const letGo = { version: aggregation?.resourceVersion, untilMs: nowMs };
      for (const kind of foreignIn(aggregation, protector.spec))
        this.#letGo.set(cellID, (this.#letGo.get(cellID) ?? new Map<string, LetGo>()).set(kind, letGo));
    }
  }
}
