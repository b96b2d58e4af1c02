/**
 * One reading of a deletion as the rules of decision-order.ts see it: what is asked, which PodProtectors count the pod,
 * and what they say. Most deletions are decided before most of it is made.
 */
import { type Deletion } from "../deletion.ts";
import { type WebhookMetrics } from "../metrics.ts";
import { type Protectors } from "../protector/protectors.ts";
import { type Match, matchOf } from "./crowd.ts";
import { allowed, type Decision, inShadow, type Refused } from "./decision.ts";
import { type HeldReviews } from "./held-reviews.ts";
import { type LostNodes } from "./lost-nodes.ts";
import { type ProtectorEvents } from "./reports/protector-events.ts";
import { type Caller, type SeveralProtectors } from "./several-protectors.ts";
import { type PodCell, type PodCells, withoutCell } from "./subject/pod-cell.ts";
import { type Subject, type SubjectContext } from "./subject/subject.ts";

/** What cases are decided with. */
export interface CaseOptions {
  /** One for each core. */
  readonly sources: readonly Protectors[];
  readonly severalProtectors: SeveralProtectors;
  readonly heldReviews: HeldReviews;
  readonly events: ProtectorEvents;
  readonly lostNodes: LostNodes;
  readonly cells: PodCells;
  /** --webhook-dry-run. */
  readonly dryRun: boolean;
  readonly metrics: WebhookMetrics;
}

/** `deadlineMonotonicMs`: the caller gives up then; `signal` aborts when it has left. */
export interface ReviewContext extends SubjectContext {
  /** The answer for what would have to wait: too many reviews do already. Absent = there is room. */
  readonly overload?: Refused;
}

export type DeletionSubject = Extract<Subject, { readonly kind: "deletion" }>;

export class Case {
  readonly subject: DeletionSubject;
  readonly user: string;
  readonly context: ReviewContext;
  readonly options: CaseOptions;
  /** A core whose PodProtectors are not listed yet. */
  readonly unsynced: string | undefined;
  #match: Match | undefined;
  #cell: PodCell | undefined;
  #deletion: Deletion | undefined;
  #caller: Caller | undefined;

  constructor(subject: DeletionSubject, user: string, context: ReviewContext, options: CaseOptions) {
    this.subject = subject;
    this.user = user;
    this.context = context;
    this.options = options;
    this.unsynced = options.sources.find(({ core }) => !core.isSynced())?.core.name;
  }

  get isAllowedAnyway(): boolean {
    return this.subject.isForced || this.options.dryRun;
  }

  /** The PodProtectors that count the pod. */
  get match(): Match {
    return (this.#match ??= this.#matched());
  }

  #matched(): Match {
    return matchOf(this.options.sources, this.subject.pod);
  }

  get cell(): PodCell {
    return (this.#cell ??= this.options.cells.of(this.subject.pod.labels, this.context.cellID));
  }

  get deletion(): Deletion {
    return (this.#deletion ??= this.#asked());
  }

  #asked(): Deletion {
    const { operation, pod, namesVersion, criterion, lostNode, isRepair } = this.subject;
    return { operation, cellID: this.cell.cellID, pod, namesVersion, criterion, isForced: false, isRepair, lostNode };
  }

  get caller(): Caller {
    const { deadlineMonotonicMs, signal, unidentifiedPeer } = this.context;
    const { user } = this;
    return (this.#caller ??= { deadlineMonotonicMs, signal, user, unidentifiedPeer, isForced: this.subject.isForced });
  }

  /** It was held, and other PodProtectors may count the pod by now. Its record goes before those without a turn. */
  again(turn: number): void {
    this.#match = this.#matched();
    this.#caller = { ...this.caller, turn };
  }

  /**
   * Why nothing is written, as a word for webhook_record_failure: without a cell there is nothing to be written, in a
   * crowd nothing is, and nothing that waits in an overload. What is not written is not held either.
   */
  get unwritten(): string | undefined {
    if (this.match.tooMany !== undefined) return "TooManyPodProtectors";
    return this.cell.ok ? this.context.overload?.status : "UnknownCell";
  }

  /** Judges without writing. A pod without a cell is judged as one of a cell that nobody counts. */
  evaluate(): Decision {
    const { severalProtectors } = this.options;
    const { match, cell, deletion } = this;
    const { tooMany, found, askable } = match;
    if (tooMany !== undefined)
      return severalProtectors.block(found) ? tooMany : inShadow(allowed("AdmittedAll"), tooMany);
    const judged = severalProtectors.evaluate(askable, deletion, this.caller);
    if (cell.ok || judged.kind === "error") return judged;
    if (judged.kind === "refused") return withoutCell(deletion, cell, judged);
    const { shadowed } = judged;
    return shadowed === undefined ? judged : inShadow(allowed("AdmittedAll"), withoutCell(deletion, cell, shadowed));
  }

  /** Judges, and admits by a record. */
  reserve(): Promise<Decision> {
    return this.options.severalProtectors.reserve(this.match.askable, this.deletion, this.caller);
  }

  /** What is allowed whatever the quota is recorded if possible, and so not without a cell, nor in a crowd. */
  async record(): Promise<void> {
    const { severalProtectors, metrics } = this.options;
    const { tooMany, askable } = this.match;
    if (tooMany !== undefined) metrics.recordFailed("TooManyPodProtectors");
    if (this.cell.ok) await severalProtectors.record(askable, { ...this.deletion, isForced: true }, this.caller);
    else if (askable.length > 0) metrics.recordFailed("UnknownCell");
  }
}
