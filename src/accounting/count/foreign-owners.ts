/**
 * Pods that a PodProtector selects and leaves out, by the kind of their controller (docs/accounting.md#foreign-pods).
 *
 * `spec.foreignOwners` says which kinds are to be left out, `countedOwners` of a cell's counts which they do leave out.
 * A webhook goes by what both say. So a kind begins to be left out with counts that do, and nothing has to be waited
 * for: what was admitted before stands in the history. It ends with the spec, and is counted only when all that was let
 * go without a record until then is carried out: `ForeignOwners` waits for that.
 */
import { type PodRecord } from "../../api/pod.ts";
import { annotations } from "../../api/v1alpha1/names.ts";
import { type Aggregation, type CellStatus, type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import { later, longAgo, type MonotonicMs } from "../../util/clock.ts";

/** Kinds whose pods cannot be those of a workload with a number of replicas: mirror pods are those of a Node. */
export const neverReplicas: readonly string[] = ["DaemonSet.apps", "Job.batch", "Node"];

type Controlled = Pick<PodRecord, "controllerKind">;
type Spec = Pick<PodProtector["spec"], "foreignOwners">;

/** Whether the pod is foreign: these counts of its cell leave it out, as the spec wants it. */
export function isForeign({ controllerKind }: Controlled, counts: Aggregation | undefined, spec: Spec): boolean {
  return controllerKind !== undefined && foreignIn(counts, spec).includes(controllerKind);
}

/** The kinds that are foreign by these counts. */
export function foreignIn(counts: Aggregation | undefined, { foreignOwners = [] }: Spec): readonly string[] {
  return counts?.countedOwners?.filter((kind) => foreignOwners.includes(kind)) ?? [];
}

/** Whether these counts leave the pod out, whatever the spec wants now. */
export function isLeftOutOf(counts: Aggregation | undefined, { controllerKind }: Controlled): boolean {
  return controllerKind !== undefined && counts?.countedOwners?.includes(controllerKind) === true;
}

/** How the names of PodProtectors begin whose sources may have pods of any owner: budgets, and kinds by their scale. */
export const anyOwnerPrefixes: readonly string[] = ["poddisruptionbudget-", "podunavailablebudget-", "scale."];

/**
 * Kinds whose pods people are shown as those of other owners, and may approve of. A generator that knows better has
 * written a list.
 */
export function foreignKinds({ metadata, spec }: Pick<PodProtector, "metadata" | "spec">): ReadonlySet<string> {
  const { name, annotations: set = {} } = metadata;
  const isOfReplicas =
    set[annotations.generated] !== undefined && !anyOwnerPrefixes.some((one) => name.startsWith(one));
  return new Set(spec.foreignOwners ?? (isOfReplicas ? neverReplicas : []));
}

/** Which kinds the next counts of a cell leave out. */
export interface LeavesOut {
  readonly kinds: ReadonlySet<string>;
  /** When a barrier that was sent after this moment is passed, fewer are; undefined = these are all that are wanted. */
  readonly untilMs: MonotonicMs | undefined;
}

/** What the aggregator of a cell remembers of the list of one PodProtector. */
export class ForeignOwners {
  #generation = Number.NEGATIVE_INFINITY;
  #wanted: readonly string[] = [];
  /** Since when each generation was seen, and had this list. */
  #sinceMs = longAgo;
  /** Our last counts have left some out, and the CRD has kept that. */
  #isKept = false;

  /** The newest known state is of this generation. */
  saw(generation: number, { foreignOwners = [] }: Spec, nowMs: MonotonicMs): void {
    const isInARow = generation === this.#generation || generation === this.#generation + 1;
    if (!isInARow || !areSame(this.#wanted, foreignOwners)) this.#sinceMs = nowMs;
    this.#generation = generation;
    this.#wanted = foreignOwners;
  }

  /** Our counts of the cell were written, and this is what is stored. */
  wrote({ countedOwners = [] }: Aggregation, { status }: PodProtector, cellID: string): void {
    const stored = status?.cells.find((cell) => cell.cellID === cellID)?.aggregation;
    this.#isKept = countedOwners.length > 0 && areSame(countedOwners, stored?.countedOwners);
  }

  /** A Go component's write has dropped them from the cell's counts: they are written again, once for each. */
  areLostIn(cell: CellStatus | undefined): boolean {
    return this.#isKept && cell?.aggregation !== undefined && cell.aggregation.countedOwners === undefined;
  }

  /**
   * What counts over these leave out. What they leave out and the spec does not name is left out on, until a barrier
   * was passed that was sent a settle window after that was seen: webhooks let such pods go without a record before.
   */
  over(recorded: Aggregation | undefined, barrierSentAtMs: MonotonicMs, settleWindowMs: number): LeavesOut {
    const lingering = (recorded?.countedOwners ?? []).filter((kind) => !this.#wanted.includes(kind));
    const untilMs = later(this.#sinceMs, settleWindowMs);
    if (lingering.length === 0 || barrierSentAtMs > untilMs)
      return { kinds: new Set(this.#wanted), untilMs: undefined };
    return { kinds: new Set([...this.#wanted, ...lingering]), untilMs };
  }
}

/** Parts the pods that are selected. Read what it has found when all have been counted. */
export class OwnPods {
  readonly #leavesOut: ReadonlySet<string>;
  readonly #foreign: ReadonlySet<string>;
  readonly #found = new Set<string>();
  #foreignReplicas = 0;

  /** `foreign`: kinds that people are shown, whether they are left out or not. */
  constructor(leavesOut: ReadonlySet<string>, foreign: ReadonlySet<string>) {
    this.#leavesOut = leavesOut;
    this.#foreign = foreign;
  }

  /** Those that count. */
  *among(pods: Iterable<PodRecord>): Iterable<PodRecord> {
    for (const pod of pods) {
      const { controllerKind: kind } = pod;
      const isAlive = !pod.isTerminating && !pod.isTerminal;
      if (kind === undefined || !isAlive) {
        yield pod;
        continue;
      }
      if (this.#foreign.has(kind)) this.#foreignReplicas += 1;
      if (this.#leavesOut.has(kind)) this.#found.add(kind);
      else yield pod;
    }
  }

  /** Pods of other owners; undefined = none. */
  get foreignReplicas(): number | undefined {
    return this.#foreignReplicas === 0 ? undefined : this.#foreignReplicas;
  }

  /**
   * `countedOwners` of the counts: what was left out, and what the counts before these left out and these do. Kept when
   * the last such pod is gone, as webhooks may be letting the next one go. Undefined = never any.
   */
  countedOwners(recorded: Aggregation | undefined): readonly string[] | undefined {
    const before = recorded?.countedOwners;
    const kept = (before ?? []).filter((kind) => this.#leavesOut.has(kind));
    const all = [...new Set([...kept, ...this.#found])].sort();
    return all.length === 0 && before === undefined ? undefined : all;
  }
}

/** Whether both name the same kinds. Absent is none. */
export function areSame(a: readonly string[] = [], b: readonly string[] = []): boolean {
  return a.length === b.length && a.every((kind) => b.includes(kind));
}
