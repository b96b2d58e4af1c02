/**
 * Counts of one PodProtector that may hold foreign pods again, in a cell where these were let go without a record until
 * a moment ago (docs/accounting.md#foreign-pods): an aggregator of an earlier release, or of Go, has taken over, which
 * leaves out nothing. Such counts are not used until what was let go is carried out. An aggregator of our own release
 * has waited as long before it counts them.
 */
import { foreignIn } from "../../../accounting/count/foreign-owners.ts";
import { type Aggregation } from "../../../api/v1alpha1/pod-protector.ts";
import { later, type MonotonicMs } from "../../../util/clock.ts";
import { type ProtectorView } from "../protector-view.ts";

interface LetGo {
  /** That left them out. */
  readonly counts: Aggregation | undefined;
  /** By a state that was the newest one until then. */
  readonly untilMs: MonotonicMs;
}

export class BegunOwners {
  /** By cell, and kind of controller. */
  readonly #letGo = new Map<string, Map<string, LetGo>>();

  /** Whether the counts of the cell may hold pods that were let go within the last `settleMs`. */
  areIn(cellID: string, counts: Aggregation, nowMs: MonotonicMs, settleMs: number): boolean {
    const { countedOwners = [] } = counts;
    return Array.from(this.#letGo.get(cellID) ?? []).some(
      ([kind, { counts: before, untilMs }]) =>
        !countedOwners.includes(kind) && !areStripped(counts, before) && nowMs < later(untilMs, settleMs),
    );
  }

  /** A newer state has taken the place of `before`. */
  replaced({ protector }: ProtectorView, nowMs: MonotonicMs): void {
    for (const { cellID, aggregation } of protector.status?.cells ?? []) {
      const letGo = { counts: aggregation, untilMs: nowMs };
      for (const kind of foreignIn(aggregation, protector.spec))
        this.#letGo.set(cellID, (this.#letGo.get(cellID) ?? new Map<string, LetGo>()).set(kind, letGo));
    }
  }
}

/**
 * The same counts without the field, as a Go component's write or another CRD leaves them: they hold no foreign pod.
 * Counts of the same snapshot that do hold some are more.
 */
function areStripped(counts: Aggregation, before: Aggregation | undefined): boolean {
  const isOfSnapshot = counts.resourceVersion === undefined || counts.resourceVersion === before?.resourceVersion;
  return isOfSnapshot && counts.totalReplicas === before?.totalReplicas;
}
