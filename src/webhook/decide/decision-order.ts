/**
 * The order of decisions: the first rule that answers decides. The table in docs/webhook.md#decision-order is made from
 * these lists (scripts/decision-order.ts), and handler.ts runs them.
 *
 * What is no deletion is decided by `subjectOrder`. A deletion is decided by `deletionOrder`, whose last rules have it
 * judged by `judgingOrder`: once, or each time that a held review is judged again.
 */
import { mayRefuse, type HealthCriterion, healthCriteria } from "../../accounting/count/health-criterion.ts";
import { assert } from "../../util/assert.ts";
import { countingMax } from "../protector/protectors.ts";
import { type Case } from "./case.ts";
import { allowed, type Decision, type Refused, type RequestStatus, unshadowed } from "./decision.ts";
import { type Judgement } from "./held-reviews.ts";
import { withLostNode } from "./lost-nodes.ts";
import { type Subject } from "./subject/subject.ts";

export interface Rule<Asked> {
  readonly name: string;
  /** When it applies, for people. */
  readonly when: string;
  /** What the caller is told, for people. */
  readonly answer: string;
  /** What webhook_request has of it in the label `status`; none = it depends. */
  readonly statuses: readonly RequestStatus[];
  /** Undefined = it does not apply, so that the next one is asked. */
  readonly decide: (asked: Asked) => Decision | Promise<Decision> | undefined;
}

/** The last of `rules` answers in any case. */
export function firstAnswer<Asked>(rules: readonly Rule<Asked>[], asked: Asked): Decision | Promise<Decision> {
  for (const rule of rules) {
    const answer = rule.decide(asked);
    if (answer !== undefined) return answer;
  }
  assert(false, "the last rule answers");
}

/** What is not to be judged. */
export type OtherSubject = Exclude<Subject, { readonly kind: "deletion" }>;

export const subjectOrder: readonly Rule<OtherSubject>[] = [
  {
    name: "unguarded-namespace",
    when: "an eviction in a namespace without PodProtectors",
    answer: "allowed, the pod is not read",
    statuses: ["Unmatched"],
    decide: ({ kind }) => (kind === "unread" ? allowed("Unmatched") : undefined),
  },
  {
    name: "eviction-in-overload",
    when: "an eviction, and too many reviews are waiting",
    answer: "refused, 429, the pod is not read",
    statuses: ["Overloaded"],
    decide: (subject) => refusedAs(subject, "Overloaded"),
  },
  {
    name: "irrelevant",
    when: "neither the deletion nor the eviction of a pod",
    answer: "refused, 500",
    statuses: ["NotRelevant"],
    decide: (subject) => refusedAs(subject, "NotRelevant"),
  },
  {
    name: "status-write",
    when: "a write of a pod's status that does not end it, or not by pod garbage collection",
    answer: "allowed",
    statuses: ["NotADeletion"],
    decide: ({ kind }) => (kind === "no-deletion" ? allowed("NotADeletion") : undefined),
  },
  {
    name: "absent-in-dry-run",
    when: "a dry run of the eviction of a pod that does not exist",
    answer: "allowed",
    statuses: ["Unmatched"],
    decide: ({ kind }) => (kind === "absent" ? allowed("Unmatched") : undefined),
  },
  {
    name: "not-found",
    when: "the pod of an eviction does not exist",
    answer: "refused, 404",
    statuses: ["NotFound"],
    decide: (subject) => refusedAs(subject, "NotFound"),
  },
  {
    name: "conflict",
    when: "an eviction whose preconditions do not fit the pod",
    answer: "refused, 409",
    statuses: ["Conflict"],
    decide: (subject) => refusedAs(subject, "Conflict"),
  },
  {
    name: "unreadable",
    when: "the pod cannot be read, from the review or from its cluster",
    answer: "HTTP 500: the failurePolicy decides",
    statuses: [],
    decide: (subject) =>
      subject.kind === "error" ? { kind: "error", tag: subject.tag, message: subject.message } : undefined,
  },
];

function refusedAs(subject: OtherSubject, status: RequestStatus): Refused | undefined {
  return subject.kind === "refused" && subject.refusal.status === status ? subject.refusal : undefined;
}

const unmatched: Rule<Case> = {
  name: "unmatched",
  when: "no PodProtector counts the pod",
  answer: "allowed, nothing written",
  statuses: ["Unmatched"],
  decide({ match, unsynced }) {
    if (match.found.length > 0) return undefined;
    return unsynced === undefined ? allowed("Unmatched") : notSynced(unsynced);
  },
};

export const judgingOrder: readonly Rule<Case>[] = [
  unmatched,
  {
    name: "crowd",
    when: `more than ${countingMax} PodProtectors of one core count the pod`,
    answer: "refused, 503",
    statuses: ["TooManyProtectors"],
    decide: (asked) => (asked.match.tooMany === undefined ? undefined : asked.evaluate()),
  },
  {
    name: "no-cell",
    when: "the pod has no [cell](cells.md#cells-by-label)",
    answer: "judged, nothing written; refused, 503, where it needs quota",
    statuses: ["UnknownCell"],
    decide: (asked) => (asked.cell.ok ? undefined : asked.evaluate()),
  },
  {
    name: "shadow-in-overload",
    when: "too many reviews are waiting, and all its PodProtectors are in [shadow](#shadow)",
    answer: "allowed, nothing written",
    statuses: ["AdmittedAll"],
    decide: (asked) => (asked.context.overload === undefined ? undefined : asked.evaluate()),
  },
  {
    name: "several",
    when: "otherwise",
    answer: "[all judged, then recorded](#several-podprotectors)",
    statuses: [
      "AdmittedAll",
      ...(["Rejected", "RetryAdvised", "CountsPending", "CellSilent", "ProtectorUnusable", "ProtectorLost"] as const),
      ...(["ProtectorVanished", "CoreUnavailable", "DeadlineExceeded", "Overloaded"] as const),
    ],
    decide: (asked) => asked.reserve(),
  },
];

export const deletionOrder: readonly Rule<Case>[] = [
  {
    name: "terminating",
    when: "the pod is terminating",
    answer: "allowed",
    statuses: ["AlreadyTerminating"],
    decide: ({ subject }) => (subject.pod.isTerminating ? allowed("AlreadyTerminating") : undefined),
  },
  {
    name: "finished",
    when: "the pod has finished: Failed or Succeeded",
    answer: "allowed",
    statuses: ["AlreadyUnready"],
    // It never recovers.
    decide: ({ subject }) => (subject.pod.isTerminal ? allowed("AlreadyUnready") : undefined),
  },
  {
    name: "unready",
    when: "DELETE of a pod that meets no criterion that it may be judged by",
    answer: "allowed: it would be reviewed again",
    statuses: ["AlreadyUnready"],
    decide({ subject: { operation, criterion, pod, isRepair } }) {
      const mayBeJudged = criteriaOf(criterion).some((one) => mayRefuse(one, pod, isRepair));
      return operation === "delete" && !mayBeJudged ? allowed("AlreadyUnready") : undefined;
    },
  },
  {
    name: "not-synced",
    when: "the PodProtectors of a core are not listed yet",
    answer: "refused, 503",
    statuses: ["NotSynced"],
    decide: ({ unsynced, isAllowedAnyway }) =>
      unsynced !== undefined && !isAllowedAnyway ? notSynced(unsynced) : undefined,
  },
  {
    name: "unready-for-all",
    when: "DELETE of a pod that meets the criterion of none of its PodProtectors",
    answer: "allowed",
    statuses: ["AlreadyUnready"],
    decide(asked) {
      const { operation, criterion, isRepair } = asked.subject;
      const isUnready = asked.unsynced === undefined && asked.match.isUnready(criterion, isRepair);
      return operation === "delete" && isUnready ? allowed("AlreadyUnready") : undefined;
    },
  },
  {
    name: "forced",
    when: "the annotation [force-delete](#dry-run-and-force), and no dry run",
    answer: "allowed, recorded if possible",
    statuses: ["AdmittedAll", "Forced"],
    decide: (asked) => (asked.subject.isForced && !asked.subject.isEvaluateOnly ? forced(asked) : undefined),
  },
  unmatched,
  {
    name: "dry-run",
    when: "a dry run",
    answer: "judged, nothing written",
    statuses: [],
    decide: (asked) => (asked.subject.isEvaluateOnly ? asked.evaluate() : undefined),
  },
  {
    name: "overload",
    when: "too many reviews are waiting",
    answer: "refused, 429",
    statuses: ["Overloaded"],
    decide({ context: { overload }, match, options }) {
      return overload !== undefined && options.severalProtectors.block(match.found) ? overload : undefined;
    },
  },
  {
    name: "lost-node",
    when: "a lost node's pod that has been refused for `--orphaned-pod-grace`",
    answer: "allowed, recorded if possible",
    statuses: ["OrphanLetGo"],
    decide: (asked) => {
      const { lostNode } = asked.subject;
      return lostNode === undefined || asked.unsynced !== undefined ? undefined : keptOrLetGo(asked, lostNode);
    },
  },
  {
    name: "judged",
    when: "otherwise",
    answer: "as below, or [held](#held-reviews) and judged again",
    statuses: [],
    decide: judgedOnce,
  },
];

/** What a deletion may be judged by, whatever the PodProtectors are. */
export function criteriaOf(asked: HealthCriterion | undefined): readonly HealthCriterion[] {
  return asked === undefined ? healthCriteria : [asked];
}

async function forced(asked: Case): Promise<Decision> {
  const { match, unsynced } = asked;
  // What would be answered is judged before the record changes it.
  const wouldBe = asked.evaluate();
  const refusal = unshadowed(wouldBe);
  if (refusal.kind === "refused") asked.options.events.forced(refusal, match.found, asked.deletion, asked.user);
  await asked.record();
  if (unsynced !== undefined) return notSynced(unsynced);
  return match.found.length === 0 ? allowed("Unmatched") : wouldBe;
}

async function judgedOnce(asked: Case): Promise<Decision> {
  const decision = await held(asked);
  if (decision.kind === "refused")
    asked.options.events.refused(decision, asked.match.found, asked.deletion, asked.user);
  return decision;
}

/** The end of a pod whose Node object is gone is refused only for so long. */
async function keptOrLetGo(asked: Case, lostNode: string): Promise<Decision> {
  const { events, lostNodes } = asked.options;
  const decision = await held(asked);
  if (decision.kind !== "refused") return decision;
  const { deletion, match, user } = asked;
  const leftMs = lostNodes.refused(deletion.cellID, lostNode, asked.context.unidentifiedPeer);
  if (leftMs > 0) {
    const refusal = withLostNode(decision, lostNode, leftMs);
    events.refused(refusal, match.found, deletion, user);
    return refusal;
  }
  events.letGo(decision, match.found, deletion);
  await asked.record();
  const audit = { ...decision.audit, "orphan-let-go": "1" };
  return { ...allowed("OrphanLetGo", audit), warnings: [`allowed after --orphaned-pod-grace: ${decision.message}`] };
}

/**
 * Judged, held where it may be, and what the last judgement refused in shadow is reported. While it is held, other
 * PodProtectors may come to count the pod.
 */
async function held(asked: Case): Promise<Decision> {
  const { severalProtectors, heldReviews, events, metrics } = asked.options;
  const { deletion, caller, user, unsynced } = asked;
  const judge = async (turn?: number): Promise<Judgement> => {
    if (turn !== undefined) asked.again(turn);
    return { decision: await firstAnswer(judgingOrder, asked), match: asked.match };
  };
  const { decision, match } = await heldReviews.hold(await judge(), {
    deletion,
    owner: asked.subject.owner,
    caller,
    judge,
    awaited: (protectors) => severalProtectors.awaited(protectors, deletion),
  });
  if (decision.kind === "allowed" && decision.shadowed !== undefined) {
    const { unwritten } = asked;
    if (unwritten !== undefined) metrics.recordFailed(unwritten);
    if (decision.shadowed.isRepeated !== true) events.wouldRefuse(decision.shadowed, match.found, deletion, user);
  }
  return unsynced === undefined ? decision : notSynced(unsynced);
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
