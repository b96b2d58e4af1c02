/**
 * Decides a review: reads what it asks, runs the order of decisions over it (decision-order.ts), and reports what came
 * of it.
 *
 * The force-delete annotation and --webhook-dry-run turn every answer into "allowed", errors included, after recording
 * what they can; the audit annotations and the metrics keep what the answer would have been. PodProtectors in shadow
 * refuse nothing; what they would have refused is reported, as for all PodProtectors with --webhook-dry-run.
 */
import { canMeet } from "../../accounting/count/health-criterion.ts";
import { type Clock } from "../../util/clock.ts";
import { Case, type CaseOptions, type DeletionSubject, type ReviewContext } from "./case.ts";
import { type Decision, type RequestStatus, unshadowed } from "./decision.ts";
import { criteriaOf, deletionOrder, firstAnswer, subjectOrder } from "./decision-order.ts";
import { type DecisionReport } from "./reports/decision-report.ts";
import { type PodCell } from "./subject/pod-cell.ts";
import {
  type AdmissionRequest,
  readReview,
  type Review,
  type Subject,
  type SubjectContext,
  type SubjectOptions,
} from "./subject/subject.ts";

export interface HandlerOptions extends SubjectOptions, CaseOptions {
  readonly report: DecisionReport;
  readonly clock: Clock;
}

export class Handler {
  readonly #options: HandlerOptions;

  constructor(options: HandlerOptions) {
    // In the order of the cores' names, whatever order the flags gave.
    const sources = options.sources.toSorted((a, b) => (a.core.name < b.core.name ? -1 : 1));
    this.#options = { ...options, sources };
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
    const first = this.#isOfNobody(review.evictedFrom) ? unread : firstSubject(review, context);
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

  #judge(subject: Subject, { user }: Review, context: ReviewContext): Decision | Promise<Decision> {
    if (subject.kind !== "deletion") return firstAnswer(subjectOrder, subject);
    return firstAnswer(deletionOrder, new Case(subject, user, context, this.#options));
  }

  /** Whether no PodProtector can count a pod that is evicted from here, whatever its labels are. */
  #isOfNobody(namespace: string | undefined): boolean {
    if (namespace === undefined || namespace === "") return false;
    return this.#options.sources.every((source) => source.core.isSynced() && !source.isUsedIn(namespace));
  }

  /** Of what is no deletion, the end of the URL stands for it. */
  #cellOf(subject: Subject, { cellID }: ReviewContext): PodCell {
    return subject.kind === "deletion" ? this.#options.cells.of(subject.pod.labels, cellID) : { ok: true, cellID };
  }

  #isAllowedAnyway({ kind, isForced }: Subject): boolean {
    return kind !== "unread" && (isForced || this.#options.dryRun);
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
    return !pod.isTerminating && !pod.isTerminal && !criteriaOf(criterion).every((one) => canMeet(one, pod));
  }
}

const unread: Subject = { kind: "unread", isForced: false };

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
