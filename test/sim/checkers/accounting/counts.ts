/**
 * Counts are those of the snapshot which they name, never go back, and the first ones include everything before them
 * (docs/accounting.md#counts).
 */
import { parseTime } from "../../../../src/api/micro-time.ts";
import { type PodRecord } from "../../../../src/api/pod.ts";
import { type PodProtector, type Aggregation } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { availableFrom } from "../../../../src/accounting/count/health-criterion.ts";
import { isLeftOutOf } from "../../../../src/accounting/count/foreign-owners.ts";
import { laterOf } from "../../../../src/util/clock.ts";
import { cellOf } from "./history.ts";
import { type Ledger, type TruePod } from "./ledger.ts";
import { allCells, type InCells, type Standing } from "./standing.ts";

export class CountsChecker {
  readonly #name: string;
  readonly #standing: Standing;
  readonly #ledger: Ledger;
  /** By cell: the state without usable counts that is to be replaced. */
  readonly #uncounted = new Map<string, { readonly state: string; readonly sinceMs: number }>();
  /** By cell: how many restores of the worker the history has seen that the counts were taken from. */
  readonly #countedFrom = new Map<string, number>();

  constructor(name: string, standing: Standing, ledger: Ledger) {
    this.#name = name;
    this.#standing = standing;
    this.#ledger = ledger;
  }

  /** Webhooks judge by them: a Go webhook strips what they have counted. */
  areThere(aggregation: Aggregation | undefined): boolean {
    if (aggregation === undefined) return false;
    const { countedSpec, countedMinReadySeconds: longer = -1 } = aggregation;
    const standing = this.#standing;
    if (countedSpec === undefined || countedSpec === standing.spec) return true;
    // Whoever was Ready for longer is counted: fewer than there are.
    return longer > (standing.object?.spec.minReadySeconds ?? Infinity) && countedSpec === standing.specBy(longer);
  }

  isUsable(aggregation: Aggregation | undefined): boolean {
    return aggregation?.resourceVersion !== undefined && aggregation.countedSpec === this.#standing.spec;
  }

  /** Since when the cells have had no usable counts. */
  noteUncounted(object: PodProtector): void {
    const ledger = this.#ledger;
    for (const cellID of ledger.cells()) {
      const aggregation = cellOf(object, cellID)?.aggregation;
      if (this.isUsable(aggregation)) this.#uncounted.delete(cellID);
      else {
        const state = JSON.stringify([this.#standing.spec, aggregation]);
        if (this.#uncounted.get(cellID)?.state !== state)
          this.#uncounted.set(cellID, { state, sinceMs: ledger.kernel.nowMs });
      }
    }
  }

  /**
   * The counts answer the present spec: a cell that is yet to be counted anew after an edit lets no quota be used, and
   * in a cell where nothing moves that lasts until the next bookmark. And every available pod was so when its cell was
   * counted last: else webhooks with slow clocks may call it young for ever.
   */
  isCurrent(cells: InCells = allCells): boolean {
    const ledger = this.#ledger;
    const standing = this.#standing;
    const minReadySeconds = standing.object?.spec.minReadySeconds ?? 0;
    const counted = (standing.object?.status?.cells ?? []).filter(({ cellID }) => cells(cellID));
    return counted.every(({ cellID, aggregation }) => {
      const { countedSpec } = aggregation ?? {};
      // Without one nobody counts anew: a Go component has stripped it from counts that are right.
      if (countedSpec !== undefined && countedSpec !== standing.spec) return false;
      const countedAt = laterOf(parseTime(aggregation?.countedAt), parseTime(aggregation?.countedAhead)) ?? 0;
      const available = [...ledger.pods.values()].filter(
        (pod) => pod.cell === cellID && standing.meets(pod, "Available"),
      );
      return available.every((pod) => {
        const record = pod.versions.at(-1)?.record;
        return record === undefined || (availableFrom(record, minReadySeconds) ?? 0) <= countedAt;
      });
    });
  }

  /** First counts: everything committed before the state that they replace is in their snapshot. */
  checkFirst(counts: Aggregation, cellID: string): void {
    const ledger = this.#ledger;
    const uncounted = this.#uncounted.get(cellID);
    if (uncounted === undefined) return;
    const covered = ledger.revisionAt(cellID, uncounted.sinceMs);
    if (Number(counts.resourceVersion) >= covered) return;
    ledger.kernel.fail(
      `${this.#name}: the first counts of ${cellID} are of snapshot ${counts.resourceVersion}, which ` +
        `lacks what was committed up to ${covered}`,
    );
  }

  /** `isOfOneRelease`: whoever has counted knows of foreign pods. */
  check(old: Aggregation | undefined, counts: Aggregation, cellID: string, isOfOneRelease: boolean): void {
    const ledger = this.#ledger;
    const { kernel } = ledger;
    const standing = this.#standing;
    if (JSON.stringify(old) === JSON.stringify(counts) || counts.resourceVersion === undefined) return;
    const [from, to] = [Number(old?.resourceVersion ?? 0), Number(counts.resourceVersion)];
    if (to < from && !isLaterMark(counts.recountedAt, old?.recountedAt) && counts.countedSpec === old?.countedSpec) {
      kernel.fail(`${this.#name}: the counts of ${cellID} go back from snapshot ${from} to ${to}`);
    }
    if (standing.editedAtMs === kernel.nowMs) return;
    if (counts.countedAt === undefined || counts.countedSpec !== standing.spec) return;
    // Those without a generation are made up by a scenario, as of a release before.
    if (isOfOneRelease && counts.countedGeneration !== undefined && standing.object !== undefined) {
      const held = this.#heldBy(counts, this.#podsOf(cellID, this.#countedFrom.get(cellID)));
      const unnamed = standing.strangers.unnamed(held, counts, standing.object.spec);
      if (unnamed.length > 0) kernel.fail(`${this.#name}: ${cellID} counts pods of ${unnamed.join(", ")}`);
    }
    const truth = this.#truthOf(counts, cellID, this.#countedFrom.get(cellID));
    for (const [name, [least, most]] of Object.entries(truth)) {
      const counted = counts[name as keyof typeof truth] ?? 0;
      if (counted >= least && counted <= most) continue;
      const holds = least === most ? least : `${least} to ${most}`;
      kernel.fail(`${this.#name}: ${cellID} says ${name} ${counted}, snapshot ${to} holds ${holds}`);
    }
  }

  /**
   * New counts: those of the present history, or of one that ended so lately that an aggregator may not know, or, by
   * `isOld`, of any.
   */
  noteSource(counts: Aggregation, cellID: string, isOld = false): void {
    const ledger = this.#ledger;
    const former = ledger.formerOf(cellID);
    const isPresent = former.length === 0 || this.#areOf(former.length, counts, cellID);
    const from = isPresent
      ? -1
      : former.findLastIndex(
          (history, index) => (isOld || ledger.mayBeUnnoticed(history)) && this.#areOf(index, counts, cellID),
        );
    this.#countedFrom.set(cellID, from === -1 ? former.length : from);
  }

  /** By UID, the pods that are counted as they were at the end of a history that the restore of a worker has ended. */
  countedBefore(object: PodProtector): ReadonlyMap<string, TruePod> {
    const counted = new Map<string, TruePod>();
    for (const { cellID, aggregation } of object.status?.cells ?? []) {
      const from = this.#countedFrom.get(cellID);
      if (aggregation === undefined || from === undefined) continue;
      const pods = this.#ledger.formerOf(cellID)[from]?.pods ?? [];
      for (const pod of pods) if (this.#standing.isCounted(pod, aggregation)) counted.set(pod.uid, pod);
    }
    return counted;
  }

  /** The counts are what that history holds. */
  #areOf(history: number, counts: Aggregation, cellID: string): boolean {
    const truth = this.#truthOf(counts, cellID, history);
    return Object.entries(truth).every(([name, [least, most]]) => {
      const counted = counts[name as keyof typeof truth] ?? 0;
      return counted >= least && counted <= most;
    });
  }

  #podsOf(cellID: string, history: number | undefined): readonly TruePod[] {
    const ledger = this.#ledger;
    const former = history === undefined ? undefined : ledger.formerOf(cellID)[history]?.pods;
    return former ?? [...ledger.pods.values()].filter((pod) => pod.cell === cellID);
  }

  /** Those that are selected, as they were in the snapshot. */
  #heldBy({ resourceVersion }: Aggregation, pods: readonly TruePod[]): PodRecord[] {
    const records = pods.flatMap((pod) => this.#ledger.at(pod, Number(resourceVersion)) ?? []);
    return records.filter((record) => this.#standing.isMember(record));
  }

  /** The least and the most of each count: where clocks are wrong only the aggregator knows how old a pod is. */
  #truthOf(counts: Aggregation, cellID: string, history: number | undefined) {
    const standing = this.#standing;
    const pods = this.#podsOf(cellID, history);
    const held = this.#heldBy(counts, pods).filter((record) => !isLeftOutOf(counts, record));
    const exactly = (has: (record: PodRecord) => boolean): [number, number] => {
      const count = held.filter(has).length;
      return [count, count];
    };
    const available = (byItsTime: boolean): number =>
      pods.filter((pod) => standing.isCounted(pod, counts, "Available", byItsTime)).length;
    return {
      totalReplicas: exactly(() => true),
      availableReplicas: [available(true), available(false)] as const,
      readyReplicas: exactly(({ isReady }) => isReady),
      scheduledReplicas: exactly(({ isScheduled }) => isScheduled),
      runningReplicas: exactly(({ isRunning }) => isRunning),
      initializedReplicas: exactly(({ isInitialized }) => isInitialized),
    };
  }
}

function isLaterMark(mark: Aggregation["recountedAt"], before: Aggregation["recountedAt"]): boolean {
  return mark !== undefined && (before === undefined || mark > before);
}
