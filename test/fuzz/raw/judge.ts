/** What must hold of every connection, whatever it sent. */
import { checkAnswer } from "../answer-form.ts";
import { type Answer } from "./answer-reader.ts";
import {
  bytesOf,
  type ConnectionPlan,
  isServed,
  isSlow,
  isWhole,
  pausesMs,
  type RequestItem,
  servesReviews,
} from "./plan.ts";

/** What came back. */
export interface Seen {
  readonly answers: readonly Answer[];
  /** What is wrong with the bytes that came. */
  readonly problem: string | undefined;
  /** The last answer is not whole. */
  readonly isPartial: boolean;
  /**
   * - `end`: the peer has ended in good order;
   * - `reset`: the connection broke;
   * - `us`: it was still open when this side ended it;
   * - `limit`: so it was long after it should have ended.
   */
  readonly endedBy: "end" | "reset" | "us" | "limit";
  readonly tookMs: number;
}

/**
 * What took longer than planned by so much was held up by a busy machine, on either side. It may be cut off like what
 * is slow by plan: the webhook waits 2 s for the rest of a body.
 */
const lateMs = 1_500;

export const isLate = (plan: ConnectionPlan, { tookMs }: Seen): boolean => tookMs > pausesMs(plan) + lateMs;

/** Of the three listeners for reviews. */
const reviewStatuses: ReadonlySet<number> = new Set([200, 400, 401, 404, 405, 408, 413, 417, 429, 431]);
/**
 * Well-formed reviews of what is no pod, or of a pod that cannot be read in time, get HTTP 500, as upstream's do. What
 * is malformed never does.
 */
const unreadableSubject =
  /server internal error: (oldObject |object |the eviction |cannot get |the pod |the deadline has passed)/;
const otherStatuses: ReadonlySet<number> = new Set([200, 400, 404, 408, 413, 417, 431]);

/** What is wrong; undefined = nothing. */
export function judge(plan: ConnectionPlan, seen: Seen): string | undefined {
  try {
    return problemOf(plan, seen);
  } catch (error) {
    return `an answer cannot be read: ${String(error)}`;
  }
}

function problemOf(plan: ConnectionPlan, seen: Seen): string | undefined {
  if (seen.problem !== undefined) return seen.problem;
  if (seen.endedBy === "limit") return "it is not answered, or has not ended, within its time";
  if (seen.isPartial && seen.endedBy === "end" && !leavesUnread(plan, seen)) return "an answer is not whole";
  for (const [at, answer] of seen.answers.entries()) {
    const method = plan.requests[at]?.method ?? "POST";
    const problem = formProblem(plan, answer, method);
    if (problem !== undefined) return `answer ${at}: ${problem}: ${shown(answer)}`;
  }
  return countProblem(plan, seen.answers) ?? sequenceProblem(plan, seen);
}

function shown({ status, headers, body }: Answer): string {
  return `HTTP ${status} ${JSON.stringify(Object.fromEntries(headers))} ${body.slice(0, 300)}`;
}

function formProblem(plan: ConnectionPlan, answer: Answer, method: string): string | undefined {
  const { status, headers, body } = answer;
  const isReviews = servesReviews(plan.listener);
  const isOddSubject = isReviews && status === 500 && unreadableSubject.test(body);
  if (!isOddSubject && !(isReviews ? reviewStatuses : otherStatuses).has(status)) return "this status is not expected";
  // Node itself answers what it cannot read, or cannot meet (Expect), without a body; so does hono to what is no URL.
  if (headers.get("content-type") === undefined) {
    const isServers = body === "" && status >= 400 && (answer.isLast || status === 400 || status === 417);
    return isServers ? undefined : "nothing says what it is";
  }
  // A client that is not served learns why, and nothing else.
  if (plan.listener === "mutual" && plan.tls?.client !== "valid") {
    return status === 401 && answer.isLast ? undefined : "a client without a valid certificate is answered";
  }
  if (status === 401) return "a valid client is rejected";
  if (!isReviews || method === "HEAD" || (body === "" && mayAskHead(plan))) return undefined;
  const uid = responseOf(answer)?.uid;
  const allow = headers.get("allow") ?? null;
  const checked = checkAnswer(
    { method, http: status, contentType: headers.get("content-type") ?? "", allow, text: body },
    uid,
  );
  if (checked.kind === "bad") return checked.problem;
  return uid !== undefined && isOfOthers(plan, uid) ? "the UID is that of another connection" : undefined;
}

/** Whether damage may have made it uncertain which answer is that to HEAD. */
const mayAskHead = (plan: ConnectionPlan): boolean =>
  !isWhole(plan) && plan.requests.some(({ method }) => method === "HEAD");

/**
 * Whether more was sent than the answer that is not whole belongs to. If that answer is the last one, the peer resets
 * the connection over the rest; when a write of this side has been told of it, a read sees a mere end.
 */
function leavesUnread({ requests }: ConnectionPlan, { answers }: Seen): boolean {
  return requests.length > answers.length + 1 || requests[answers.length]?.expects === "anything";
}

/** The response of a review; undefined = it is none. */
function responseOf({ body }: Answer): { readonly uid: string; readonly allowed: boolean } | undefined {
  if (!body.startsWith("{")) return undefined;
  const { response } = JSON.parse(body) as { response?: { uid: string; allowed: boolean } };
  return response;
}

/** Whether the UID is one that other connections send, and this one has not, not even by changed bytes. */
function isOfOthers(plan: ConnectionPlan, uid: string): boolean {
  const [, index] = /^f(\d+)-\d+$/.exec(uid) ?? [];
  return index !== undefined && Number(index) !== plan.index && !bytesOf(plan).includes(uid);
}

/** No review is answered more often than it was sent. */
function countProblem(plan: ConnectionPlan, answers: readonly Answer[]): string | undefined {
  if (answers.length <= 1) return undefined;
  const sent = bytesOf(plan).toString("latin1");
  const asked = sent.split("HTTP/1").length - 1;
  // A parser's own answer to what is no request comes beside these.
  if (answers.length > asked + 1) return `${answers.length} answers to ${asked} requests`;
  for (const { uid, body } of plan.requests) {
    if (uid === "" || !sent.includes(`"uid":"${uid}"`)) continue;
    const times = answers.filter((answer) => responseOf(answer)?.uid === uid).length;
    const reviews = sent.split(`"uid":"${uid}"`).length - 1;
    if (times > reviews)
      return `${uid} is answered ${times} times, and was sent ${reviews} times: ${body.slice(0, 80)}`;
  }
  return undefined;
}

/** Whether whole requests are answered in their order. */
function sequenceProblem(plan: ConnectionPlan, seen: Seen): string | undefined {
  if (!isServed(plan)) return undefined;
  for (const [at, item] of plan.requests.entries()) {
    if (item.expects === "anything") return undefined;
    const answer = seen.answers[at];
    if (answer === undefined) return missingProblem(plan, seen, at);
    const problem = itemProblem(plan, item, answer);
    if (problem !== undefined && !mayBeCutOff(plan, seen, answer)) return `request ${at} ${problem}: ${shown(answer)}`;
    if (answer.isLast) return undefined;
  }
  return isWhole(plan) && seen.answers.length > plan.requests.length ? "more answers than requests" : undefined;
}

/** Whether the answer says that this side is not understood, or was too slow, and may be right. */
function mayBeCutOff(plan: ConnectionPlan, seen: Seen, { status, body, isLast }: Answer): boolean {
  const isTooSlow = status === 408 || (status === 500 && unreadableSubject.test(body));
  if (isTooSlow && (isSlow(plan) || isLate(plan, seen))) return true;
  // What Node cannot read ends the connection at once, also for those that wait for answers.
  return !isWhole(plan) && status >= 400 && body === "" && isLast;
}

function missingProblem(plan: ConnectionPlan, seen: Seen, at: number): string | undefined {
  if (plan.ending !== "answers") return undefined;
  // When an answer ends the connection before all was read, what is unread resets it, and answers may be lost.
  const isUnread = seen.endedBy === "reset" && plan.requests.some((item) => !isDecided(item));
  const isExcused = isUnread || isSlow(plan) || isLate(plan, seen);
  return isExcused ? undefined : `request ${at} has no answer, ended by ${seen.endedBy}`;
}

const isDecided = ({ expects }: RequestItem): boolean => expects === "allowed" || expects === "decided";

function itemProblem(plan: ConnectionPlan, item: RequestItem, answer: Answer): string | undefined {
  const response = servesReviews(plan.listener) && answer.status !== 404 ? responseOf(answer) : undefined;
  switch (item.expects) {
    case "allowed":
    case "decided":
      if (answer.status !== 200 || response?.uid !== item.uid) return "is not decided";
      if (item.expects === "allowed" && !response.allowed) return "is refused";
      return answer.isLast && !item.closes ? "ends its connection" : undefined;
    case "refused":
      return response?.allowed === true ? "is allowed, and is no review" : undefined;
    case "answered":
    case "anything":
      return undefined;
    default:
      return item.expects satisfies never;
  }
}
