/**
 * What webhooks admit on the last known quota while the core takes no writes: all replicas together no more than the
 * quota of a state that one of them may have known when the core went (docs/webhook.md#core-unavailable).
 */
import { type PodProtector } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { type Kernel } from "../../kernel/kernel.ts";
import { countFor, type HealthCriterion } from "../../../../src/accounting/count/health-criterion.ts";
import { weightOf } from "../accounting/room.ts";

interface KnownState {
  readonly revision: number;
  readonly quota: number;
  /** By cell, what it has counted and not promised: more than that cannot be taken from it. Below 0 without counts. */
  readonly kept: ReadonlyMap<string, number>;
}

/** States before the last one that every replica knows are not looked at. */
const statesMax = 200;

export interface LentOptions {
  readonly name: string;
  readonly kernel: Kernel;
  readonly criterion: HealthCriterion;
  /** How often the core has gone so far, while it is away; undefined = it is there. */
  readonly outage: () => number | undefined;
  /** Every replica that is running had been told of that revision. */
  readonly isCommon: (revision: number) => boolean;
}

export class LentChecker {
  readonly #options: LentOptions;
  #states: readonly KnownState[] = [];
  #outage: number | undefined;
  /** By cell, UIDs that were admitted in this outage. */
  readonly #lent = new Map<string, Set<string>>();
  /** What one of the replicas may know. */
  #known: readonly KnownState[] = [];

  constructor(options: LentOptions) {
    this.#options = options;
  }

  /** A version has been committed. */
  committed(object: PodProtector | undefined): void {
    if (object === undefined) return;
    const revision = Number(object.metadata.resourceVersion);
    const kept = keptIn(object, this.#options.criterion);
    const quota = kept.values().reduce((sum, value) => sum + value, 0) - object.spec.minAvailable;
    const state = { revision, quota, kept };
    this.#states = [...this.#states.slice(-statesMax + 1), state];
    // People may still write, and replicas may see it.
    if (this.#outage !== undefined && this.#outage === this.#options.outage()) this.#known = [...this.#known, state];
  }

  /**
   * A deletion that took quota was admitted, whether it was recorded or not: not that of a pod that terminates by now,
   * about which a late review asks once more.
   */
  admitted(uid: string, cellID: string): void {
    const { name, kernel, outage, isCommon } = this.#options;
    const present = outage();
    if (present === undefined) return;
    if (present !== this.#outage) {
      this.#outage = present;
      this.#lent.clear();
      const common = this.#states.findLastIndex(({ revision }) => isCommon(revision));
      this.#known = this.#states.slice(Math.max(0, common));
    }
    this.#lent.set(cellID, (this.#lent.get(cellID) ?? new Set()).add(uid));
    const quota = Math.max(0, ...this.#known.map((state) => state.quota));
    const taken = [...this.#lent].reduce((sum, [cell, { size }]) => sum + Math.min(size, this.#leastKeptIn(cell)), 0);
    if (taken > quota) kernel.fail(`${name}: ${taken} deletions are admitted on a last known quota of ${quota}`);
  }

  /** Deletions beyond that are of pods that are not counted, and take nothing from the quota. */
  #leastKeptIn(cellID: string): number {
    return Math.max(0, Math.min(...this.#known.map(({ kept }) => kept.get(cellID) ?? 0)));
  }
}

function keptIn(object: PodProtector, criterion: HealthCriterion): ReadonlyMap<string, number> {
  return new Map(
    (object.status?.cells ?? []).map(({ cellID, aggregation }) => {
      const promised = weightOf(object, (one) => one === cellID);
      // Without counts, the pods may be those of another cell.
      return [
        cellID,
        aggregation === undefined ? -promised : Math.max(0, countFor(criterion, aggregation, object.spec) - promised),
      ];
    }),
  );
}
