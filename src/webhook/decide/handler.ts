/**
 * Decides a review: upstream's decision order (section 3.2 of its behaviour) with the changes of design 3. The first
 * row that applies decides.
 *
 * | condition                                                             | answer                    |
 * | neither the deletion nor the eviction of a pod, pod not found         | refused                   |
 * | pod terminating                                                       | allowed                   |
 * | DELETE of a pod that does not meet its criterion (it would be reviewed again) | allowed           |
 * | PodProtectors of a core not listed yet                                | refused (503)             |
 * | no PodProtector counts the pod                                        | allowed, nothing written  |
 * | dryRun                                                                | evaluated, nothing written|
 * | too many reviews wait already (an eviction: before all else)          | refused (429)             |
 * | otherwise                                                             | all evaluated, then recorded |
 *
 * The force-delete annotation and --webhook-dry-run turn every answer into "allowed", errors included, after recording
 * what they can; the audit annotations and the metrics keep what the answer would have been.
 */
import { canMeet } from "../../accounting/count/health-criterion.ts";
import { type Clock } from "../../util/clock.ts";
import { type AdmissionRequest } from "../http/admission-review.ts";
import { type WorkerClients } from "./cell-clients.ts";
import type { CriterionAnnotation } from "../../config/config.ts";
import { allowed, type Decision, type Refused } from "./decision.ts";
import { type Deletion } from "../protector/judge.ts";
import { type WebhookMetrics } from "../metrics.ts";
import { type NewestStates } from "../protector/newest-states.ts";
import { type ProtectorDirectory } from "../protector/protector-directory.ts";
import { type ProtectorEvents } from "./protector-events.ts";
import { type Caller, type Candidate, type ReserveAll } from "./reserve-all.ts";
import { causeOf, readSubject, type Subject } from "./subject.ts";

export interface HandlerCore {
  /** Without slashes. */
  readonly name: string;
  readonly directory: ProtectorDirectory;
  readonly states: NewestStates;
}

export interface HandlerOptions {
  readonly cores: readonly HandlerCore[];
  readonly reserveAll: ReserveAll;
  readonly events: ProtectorEvents;
  readonly workers: WorkerClients;
  readonly healthCriteria: readonly CriterionAnnotation[];
  /** --webhook-dry-run. */
  readonly dryRun: boolean;
  readonly clock: Clock;
  readonly metrics: WebhookMetrics;
}

export interface ReviewContext {
  readonly cellID: string;
  /** The caller gives up at this moment. */
  readonly deadlineMonotonicMs: number;
  /** Aborts when the caller has gone. */
  readonly signal: AbortSignal | undefined;
  /** The answer for what would have to wait: too many reviews do already. Absent = there is room. */
  readonly overload?: Refused;
}

/** Takes `oldObject` out of the request, so that whoever holds the request does not hold the pod. */
export type Handler = (request: AdmissionRequest, context: ReviewContext) => Promise<Decision>;

type DeletionSubject = Extract<Subject, { readonly kind: "deletion" }>;

/** Throws only for programmer errors. */
export function createHandler(options: HandlerOptions): Handler {
  const { reserveAll, events, workers, healthCriteria, dryRun, clock, metrics } = options;
  // In the order of names, whatever order the flags gave.
  const cores = options.cores.toSorted((a, b) => (a.name < b.name ? -1 : 1));

  async function decide(
    subject: DeletionSubject,
    { cellID, overload }: ReviewContext,
    caller: Caller,
    isForced: boolean,
  ): Promise<Decision> {
    const { pod, operation, criterion, isEvaluateOnly } = subject;
    if (pod.isTerminating) return allowed("AlreadyTerminating");
    // With 0 seconds: what no PodProtector can judge otherwise, whatever its minReadySeconds.
    if (operation === "delete" && !canMeet(criterion, pod, 0)) return allowed("AlreadyUnready");
    const unsynced = cores.find((core) => !core.directory.isSynced());
    if (unsynced !== undefined && !isForced) return notSynced(unsynced.name);

    const candidates = cores.flatMap(({ name, directory, states }): Candidate[] =>
      directory
        .matching(pod.namespace, pod.labels)
        .map((key) => ({ core: name, states, key, silentMs: directory.silentMs() })),
    );
    const deletion: Deletion = { operation, cellID, pod, criterion, isForced: false };
    if (isForced && !isEvaluateOnly) {
      // What would be answered is judged before the record changes it.
      const wouldBe = reserveAll.evaluate(candidates, deletion, caller);
      await reserveAll.record(candidates, { ...deletion, isForced }, caller);
      if (unsynced !== undefined) return notSynced(unsynced.name);
      return candidates.length === 0 ? allowed("Unmatched") : wouldBe;
    }
    if (candidates.length === 0) return allowed("Unmatched");
    if (isEvaluateOnly) return reserveAll.evaluate(candidates, deletion, caller);
    if (overload !== undefined) return overload;
    const decision = await reserveAll.reserve(candidates, deletion, caller);
    if (decision.kind === "refused") events.refused(decision, candidates, deletion);
    return decision;
  }

  /** The pod of an eviction would have to be read, which is waiting too. */
  async function read(request: AdmissionRequest, context: ReviewContext): Promise<Subject> {
    const { overload } = context;
    if (overload !== undefined && causeOf(request) === "EvictPod")
      return { kind: "refused", refusal: overload, isForced: false };
    return readSubject(request, { ...context, workers, healthCriteria, clock });
  }

  return async (request, context) => {
    const startMs = clock.monotonicMs();
    const { cellID, deadlineMonotonicMs, signal } = context;
    const caller: Caller = { deadlineMonotonicMs, signal, user: request.userInfo.username };
    let subject = await read(request, context);
    // Of a deletion nothing more is read. A review may wait for seconds, and a large pod takes twenty times its bytes.
    request.oldObject = undefined;
    let isForced = dryRun || subject.isForced;
    const judge = async (): Promise<Decision> =>
      subject.kind === "deletion" ? decide(subject, context, caller, isForced) : withoutPod(subject);
    let decision = await judge();
    for (let readings = 1; decision.kind === "allowed" && mayHaveChanged(subject) && !isForced; readings += 1) {
      const present = await read(request, context);
      if (present.kind === "deletion" && present.pod.resourceVersion === subject.pod.resourceVersion) break;
      subject = present;
      isForced = dryRun || subject.isForced;
      decision = readings < readingsMax ? await judge() : changesTooFast;
    }
    if (decision.kind === "error") metrics.httpError(cellID, `Handle/${decision.tag}`);
    else metrics.request(cellID, decision.status, causeOf(request), clock.monotonicMs() - startMs);
    return isForced ? overruled(decision) : decision;
  };
}

/** A pod that changes this often within a few seconds is in nobody's hands; whoever evicts it tries again. */
const readingsMax = 3;

const changesTooFast: Decision = {
  kind: "error",
  tag: "EvictedPodKeepsChanging",
  message: `the pod of the eviction changed ${readingsMax} times while it was judged`,
};

/**
 * An eviction of a pod that does not meet its criterion needs no quota. But it is bound to no version: the pod may have
 * become healthy, and have been counted, before the record was written, and then others were admitted because of it.
 * From the record on it is subtracted, so one more look after that is enough.
 */
function mayHaveChanged(subject: Subject): subject is DeletionSubject {
  if (subject.kind !== "deletion" || subject.operation !== "evict" || subject.isEvaluateOnly) return false;
  return !subject.pod.isTerminating && !canMeet(subject.criterion, subject.pod, 0);
}

function withoutPod(subject: Exclude<Subject, DeletionSubject>): Decision {
  return subject.kind === "refused" ? subject.refusal : { kind: "error", tag: subject.tag, message: subject.message };
}

/** Allowed all the same, with upstream's marks and a warning where the answer would have been another. */
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
    message: `PodProtector informer is not synced yet: the PodProtectors of ${core} are still being listed. Try again in a few seconds`,
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
