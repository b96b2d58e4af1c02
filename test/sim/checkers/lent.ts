/**
 * What webhooks admit on the last known quota while the core takes no writes: all replicas together no more than the
 * quota of a state that one of them may have known when the core went (docs/webhook.md#core-unavailable).
 */
import { type PodProtector } from "../../../src/api/v1alpha1/pod-protector.ts";
import { type Kernel } from "../kernel/kernel.ts";
import { countFor, type HealthCriterion } from "../../../src/accounting/count/health-criterion.ts";
import { weightOf } from "./room.ts";

interface KnownState {
  readonly revision: number;
  readonly quota: number;
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
  /** By UID: admitted in this outage. */
  readonly #lent = new Set<string>();
  #quota = 0;

  constructor(options: LentOptions) {
    this.#options = options;
  }

  /** A version has been committed. */
  committed(object: PodProtector | undefined): void {
    if (object === undefined) return;
    const revision = Number(object.metadata.resourceVersion);
    const quota = quotaOf(object, this.#options.criterion);
    this.#states = [...this.#states.slice(-statesMax + 1), { revision, quota }];
  }

  /** A deletion that took quota was admitted, whether it was recorded or not. */
  admitted(uid: string): void {
    const { name, kernel, outage, isCommon } = this.#options;
    const present = outage();
    if (present === undefined) return;
    if (present !== this.#outage) {
      this.#outage = present;
      this.#lent.clear();
      const common = this.#states.findLastIndex(({ revision }) => isCommon(revision));
      this.#quota = Math.max(0, ...this.#states.slice(Math.max(0, common)).map(({ quota }) => quota));
    }
    this.#lent.add(uid);
    if (this.#lent.size > this.#quota)
      kernel.fail(`${name}: ${this.#lent.size} deletions are admitted on a last known quota of ${this.#quota}`);
  }
}

/** What may be admitted on top of this state. */
function quotaOf(object: PodProtector, criterion: HealthCriterion): number {
  const counted = (object.status?.cells ?? []).reduce(
    (sum, { aggregation }) => sum + (aggregation === undefined ? 0 : countFor(criterion, aggregation)),
    0,
  );
  return counted - weightOf(object) - object.spec.minAvailable;
}
