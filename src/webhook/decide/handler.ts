/**
 * Decides a review (docs/webhook.md#decision-order). The first row that applies decides.
 *
 * | condition                                                             | answer                    |
 * | an eviction in a namespace without PodProtectors                      | allowed, the pod unread   |
 * | neither the deletion nor the eviction of a pod, pod not found         | refused                   |
 * | a write of a pod's status that is no deletion in disguise             | allowed                   |
 * | pod terminating, Failed or Succeeded                                  | allowed                   |
 * | DELETE of a pod that meets no criterion that it may be judged by (it would be reviewed again) | allowed |
 * | PodProtectors of a core not listed yet                                | refused (503)             |
 * | DELETE of a pod that meets the criterion of no PodProtector           | allowed                   |
 * | no PodProtector counts the pod                                        | allowed, nothing written  |
 * | dryRun                                                                | evaluated, nothing written|
 * | too many reviews wait already (an eviction: before all else)          | refused (429)             |
 * | a lost node's pod that has been refused for --orphaned-pod-grace      | allowed, recorded if possible |
 * | too many PodProtectors of a core count the pod                        | refused (503)             |
 * | the pod has no cell (--webhook-cell-label), and needs quota           | refused (503)             |
 * | otherwise                                                             | all evaluated, then recorded, or held |
 *
 * The force-delete annotation and --webhook-dry-run turn every answer into "allowed", errors included, after recording
 * what they can; the audit annotations and the metrics keep what the answer would have been. PodProtectors in shadow
 * refuse nothing; what they would have refused is reported, as for all PodProtectors with --webhook-dry-run.
 */
import { canMeet, type HealthCriterion, healthCriteria } from "../../accounting/count/health-criterion.ts";
import { type PodRecord } from "../../api/pod.ts";
import { type Clock } from "../../util/clock.ts";
import { type Deletion } from "../deletion.ts";
import { type WebhookMetrics } from "../metrics.ts";
import { type Protectors } from "../protector/protectors.ts";
import { type Match, matchOf } from "./crowd.ts";
import { allowed, type Decision, inShadow, type Refused, type RequestStatus } from "./decision.ts";
import { type DecisionReport } from "./reports/decision-report.ts";
import { type HeldReviews, type Judgement } from "./held-reviews.ts";
import { type LostNodes, withLostNode } from "./lost-nodes.ts";
import { type PodCell, type PodCells, withoutCell } from "./subject/pod-cell.ts";
import { type ProtectorEvents } from "./reports/protector-events.ts";
import { type Caller, type SeveralProtectors } from "./several-protectors.ts";
import { type ShadowReport } from "./reports/shadow-report.ts";
import {
  type AdmissionRequest,
  readReview,
  type Review,
  type Subject,
  type SubjectContext,
  type SubjectOptions,
} from "./subject/subject.ts";

export interface HandlerOptions extends SubjectOptions {
  /** One for each core. */
  readonly sources: readonly Protectors[];
  readonly severalProtectors: SeveralProtectors;
  readonly heldReviews: HeldReviews;
  readonly events: ProtectorEvents;
  readonly shadowReport: ShadowReport;
  readonly report: DecisionReport;
  readonly lostNodes: LostNodes;
  readonly cells: PodCells;
  /** --webhook-dry-run. */
  readonly dryRun: boolean;
  readonly clock: Clock;
  readonly metrics: WebhookMetrics;
}

/** `deadlineMonotonicMs`: the caller gives up then; `signal` aborts when it has left. */
export interface ReviewContext extends SubjectContext {
  /** The answer for what would have to wait: too many reviews do already. Absent = there is room. */
  readonly overload?: Refused;
}

/** A deletion, and what its answer depends on besides the PodProtectors. */
interface Asked {
  readonly deletion: Deletion;
  /** UID of the pod's controller; undefined = it has none, or it is an eviction. */
  readonly owner: string | undefined;
  readonly cell: PodCell;
  readonly caller: Caller;
  readonly overload: Refused | undefined;
}

type DeletionSubject = Extract<Subject, { readonly kind: "deletion" }>;

export class Handler {
  readonly #options: HandlerOptions;
  /** In the order of the cores' names, whatever order the flags gave. */
  readonly #sources: readonly Protectors[];

  constructor(options: HandlerOptions) {
    this.#options = options;
    this.#sources = options.sources.toSorted((a, b) => (a.core.name < b.core.name ? -1 : 1));
  }

  /** What the request asks, without the request. */
  read(request: AdmissionRequest, context: SubjectContext): Review {
    return readReview(request, this.#options, context);
  }

  /** Rejects only for programmer errors. */
  async decide(review: Review, context: ReviewContext): Promise<Decision> {
    const { clock, metrics, report } = this.#options;
    const { cause } = review;
    const startMs = clock.monotonicMs();
    if (this.#isOfNobody(review.evictedFrom)) {
      metrics.request(context.cellID, "Unmatched", cause, 0);
      metrics.decided("admitted", "Unmatched", context.cellID);
      return allowed("Unmatched");
    }
    const first = firstSubject(review, context);
    let subject = first instanceof Promise ? await first : first;
    let decision = await this.#judge(subject, review, context);
    for (let readings = 1; decision.kind === "allowed" && this.#mayHaveChanged(subject); readings += 1) {
      const present = await review.read();
      if (present.kind === "deletion" && present.pod.resourceVersion === subject.pod.resourceVersion) break;
      subject = present;
      decision = readings < readingsMax ? await this.#judge(subject, review, context) : changesTooFast;
    }
    const { cellID } = this.#cellOf(subject, context);
    const isOverruled = this.#isAllowedAnyway(subject);
    const told = isOverruled ? unshadowed(decision) : decision;
    if (told.kind === "error") metrics.httpError(cellID, `Handle/${told.tag}`);
    else metrics.request(cellID, countedStatus(told, subject), cause, clock.monotonicMs() - startMs);
    report.decided({ decision: told, subject, review, cellID });
    return isOverruled ? overruled(told) : told;
  }

  /** Whether no PodProtector can count a pod that is evicted from here, whatever its labels are. */
  #isOfNobody(namespace: string | undefined): boolean {
    if (namespace === undefined || namespace === "") return false;
    return this.#sources.every((source) => source.core.isSynced() && !source.isUsedIn(namespace));
  }

  /** Of what is no deletion, the end of the URL stands for it. */
  #cellOf(subject: Subject, { cellID }: ReviewContext): PodCell {
    return subject.kind === "deletion" ? this.#options.cells.of(subject.pod.labels, cellID) : { ok: true, cellID };
  }

  #isAllowedAnyway({ isForced }: Subject): boolean {
    return isForced || this.#options.dryRun;
  }

  /**
   * An eviction of a pod that does not meet its criterion needs no quota. But it is bound to no version: the pod may
   * have become healthy, and have been counted, before the record was written, and then others were admitted because of
   * it. From the record on it is subtracted, so one more look after that is enough
   * (docs/decisions/0005-second-look-at-evicted-pods.md).
   */
  #mayHaveChanged(subject: Subject): subject is DeletionSubject {
    if (subject.kind !== "deletion" || subject.operation !== "evict" || subject.isEvaluateOnly) return false;
    if (this.#isAllowedAnyway(subject)) return false;
    const { pod, criterion } = subject;
    return !pod.isTerminating && !pod.isTerminal && !criteriaOf(criterion).every((one) => canMeet(one, pod, 0));
  }

  async #judge(subject: Subject, { user }: Review, context: ReviewContext): Promise<Decision> {
    if (subject.kind === "refused") return subject.refusal;
    if (subject.kind === "no-deletion") return allowed("NotADeletion");
    if (subject.kind === "absent") return allowed("Unmatched");
    if (subject.kind === "error") return { kind: "error", tag: subject.tag, message: subject.message };
    const { pod, operation, criterion, isEvaluateOnly } = subject;
    if (pod.isTerminating) return allowed("AlreadyTerminating");
    // It never recovers.
    if (pod.isTerminal) return allowed("AlreadyUnready");
    // With 0 seconds: what no PodProtector can judge otherwise, whatever its minReadySeconds.
    const mayBeJudged = criteriaOf(criterion).some((one) => canMeet(one, pod, 0));
    if (operation === "delete" && !mayBeJudged) return allowed("AlreadyUnready");
    const isAllowedAnyway = this.#isAllowedAnyway(subject);
    const unsynced = this.#sources.find(({ core }) => !core.isSynced());
    if (unsynced !== undefined && !isAllowedAnyway) return notSynced(unsynced.core.name);

    const match = this.#matchOf(pod);
    const isUnready = unsynced === undefined && match.isUnready(criterion);
    if (operation === "delete" && isUnready) return allowed("AlreadyUnready");
    const { overload, deadlineMonotonicMs, signal, unidentifiedPeer } = context;
    const { owner, lostNode } = subject;
    const cell = this.#cellOf(subject, context);
    const deletion: Deletion = { operation, cellID: cell.cellID, pod, criterion, isForced: false, lostNode };
    const asked: Asked = {
      deletion,
      owner,
      cell,
      caller: { deadlineMonotonicMs, signal, user, unidentifiedPeer, isForced: subject.isForced },
      overload,
    };
    if (subject.isForced && !isEvaluateOnly) {
      // What would be answered is judged before the record changes it.
      const wouldBe = this.#evaluate(match, asked);
      const refusal = unshadowed(wouldBe);
      if (refusal.kind === "refused") this.#options.events.forced(refusal, match.found, deletion, user);
      await this.#record(match, asked);
      if (unsynced !== undefined) return notSynced(unsynced.core.name);
      return match.found.length === 0 ? allowed("Unmatched") : wouldBe;
    }
    if (match.found.length === 0) return unsynced === undefined ? allowed("Unmatched") : notSynced(unsynced.core.name);
    if (isEvaluateOnly) return this.#evaluate(match, asked);
    if (overload !== undefined && !this.#options.severalProtectors.areInShadow(match.found)) return overload;
    const { decision, match: judges } = await this.#reserve(match, asked);
    if (unsynced !== undefined) return notSynced(unsynced.core.name);
    if (decision.kind !== "refused") return decision;
    if (lostNode !== undefined) return this.#keepOrLetGo(decision, judges, asked);
    this.#options.events.refused(decision, judges.found, deletion, asked.caller.user);
    return decision;
  }

  #matchOf(pod: PodRecord): Match {
    return matchOf(this.#sources, pod);
  }

  /**
   * Judges and records, holds the review where it may be held, and reports what was refused in shadow by the last
   * judgement. While the review is held, other PodProtectors may come to count the pod.
   */
  async #reserve(first: Match, asked: Asked): Promise<Judgement> {
    const { severalProtectors, heldReviews, shadowReport, metrics } = this.#options;
    const { deletion, owner, caller } = asked;
    const judge = async (match: Match, turn?: number): Promise<Judgement> => {
      if (match.found.length === 0) return { decision: allowed("Unmatched"), match };
      if (unwrittenOf(match, asked) !== undefined) return { decision: this.#evaluate(match, asked), match };
      const turned = turn === undefined ? caller : { ...caller, turn };
      return { decision: await severalProtectors.reserve(match.askable, deletion, turned), match };
    };
    const last = await heldReviews.hold(await judge(first), {
      deletion,
      owner,
      caller,
      judge: (turn) => judge(this.#matchOf(deletion.pod), turn),
      awaited: (protectors) => severalProtectors.awaited(protectors, deletion),
    });
    const { decision, match } = last;
    if (decision.kind === "allowed" && decision.shadowed !== undefined) {
      const unwritten = unwrittenOf(match, asked);
      if (unwritten !== undefined) metrics.recordFailed(unwritten);
      if (decision.shadowed.isRepeated !== true)
        shadowReport.wouldRefuse(decision.shadowed, match.found, deletion, caller.user);
    }
    return last;
  }

  /** Judges without writing. A pod without a cell is judged as one of a cell that nobody counts. */
  #evaluate({ tooMany, found, askable }: Match, { deletion, cell, caller }: Asked): Decision {
    const { severalProtectors } = this.#options;
    if (tooMany !== undefined)
      return severalProtectors.areInShadow(found) ? inShadow(allowed("AdmittedAll"), tooMany) : tooMany;
    const judged = severalProtectors.evaluate(askable, deletion, caller);
    if (cell.ok || judged.kind === "error") return judged;
    if (judged.kind === "refused") return withoutCell(deletion, cell, judged);
    const { shadowed } = judged;
    return shadowed === undefined ? judged : inShadow(allowed("AdmittedAll"), withoutCell(deletion, cell, shadowed));
  }

  /** What is allowed whatever the quota is recorded if possible, and so not without a cell, nor in a crowd. */
  async #record(match: Match, { deletion, cell, caller }: Asked): Promise<void> {
    const { severalProtectors, metrics } = this.#options;
    if (match.tooMany !== undefined) metrics.recordFailed("TooManyPodProtectors");
    if (cell.ok) await severalProtectors.record(match.askable, { ...deletion, isForced: true }, caller);
    else if (match.askable.length > 0) metrics.recordFailed("UnknownCell");
  }

  /** The end of a pod whose Node object is gone is to be refused: only for so long. */
  async #keepOrLetGo(decision: Refused, match: Match, asked: Asked): Promise<Decision> {
    const { events, lostNodes } = this.#options;
    const { deletion, caller } = asked;
    const { lostNode = "" } = deletion;
    const leftMs = lostNodes.refused(deletion.cellID, lostNode, caller.unidentifiedPeer);
    if (leftMs > 0) {
      const refusal = withLostNode(decision, lostNode, leftMs);
      events.refused(refusal, match.found, deletion, caller.user);
      return refusal;
    }
    events.letGo(decision, match.found, deletion);
    await this.#record(match, asked);
    const audit = { ...decision.audit, "orphan-let-go": "1" };
    return { ...allowed("OrphanLetGo", audit), warnings: [`allowed after --orphaned-pod-grace: ${decision.message}`] };
  }
}

/**
 * Why nothing is written, as a word for webhook_record_failure: without a cell there is nothing to be written, in a
 * crowd nothing is, and nothing that waits in an overload. What is not written is not held either.
 */
function unwrittenOf({ tooMany }: Match, { cell, overload }: Asked): string | undefined {
  if (tooMany !== undefined) return "TooManyPodProtectors";
  return cell.ok ? overload?.status : "UnknownCell";
}

/** What a deletion may be judged by, whatever the PodProtectors are. */
function criteriaOf(asked: HealthCriterion | undefined): readonly HealthCriterion[] {
  return asked === undefined ? healthCriteria : [asked];
}

/** The pod of an eviction would have to be read, which is waiting too. */
function firstSubject(review: Review, { overload }: ReviewContext): Subject | Promise<Subject> {
  if (overload === undefined || review.cause !== "EvictPod") return review.read();
  return { kind: "refused", refusal: overload, isForced: false };
}

/** A pod that changes this often within a few seconds is broken; its caller tries again. */
const readingsMax = 3;

const changesTooFast: Decision = {
  kind: "error",
  tag: "EvictedPodKeepsChanging",
  message: `the pod of the eviction changed ${readingsMax} times while it was judged`,
};

/** With --webhook-dry-run all PodProtectors are in shadow: what the answer would have been without the flag. */
function unshadowed(decision: Decision): Decision {
  return decision.kind === "allowed" ? (decision.shadowed ?? decision) : decision;
}

/** A forced deletion is no refusal, whatever would have been answered to another. */
function countedStatus(decision: Exclude<Decision, { kind: "error" }>, { isForced }: Subject): RequestStatus | "Error" {
  return isForced && decision.kind === "refused" ? "Forced" : decision.status;
}

/** Allowed anyway, with upstream's marks and a warning where the answer would have been another. */
function overruled(decision: Decision): Decision {
  switch (decision.kind) {
    case "allowed":
      return { ...decision, audit: { ...decision.audit, "dry-run": "1" } };
    case "refused":
      return {
        kind: "allowed",
        status: decision.status,
        audit: { ...decision.audit, "dry-run": "1" },
        warnings: [`allowed by force-delete or dry-run: ${decision.message}`],
      };
    case "error":
      return {
        kind: "allowed",
        status: "Error",
        audit: { "dry-run": "1" },
        warnings: [`allowed by force-delete or dry-run: ${decision.message}`],
      };
    default:
      return decision satisfies never;
  }
}

function notSynced(core: string): Refused {
  return {
    kind: "refused",
    status: "NotSynced",
    code: 503,
    reason: "ServiceUnavailable",
    message:
      `PodProtector informer is not synced yet: the PodProtectors of ${core} are still being listed. ` +
      "Try again in a few seconds",
    causes: [
      {
        reason: "NotSynced",
        message: "this webhook replica has just started or cannot reach the core cluster",
        field: core,
      },
    ],
    audit: {},
  };
}
