/**
 * The forms that an answer may have: an AdmissionReview of admission.k8s.io/v1, or one of the HTTP errors that API
 * servers understand.
 */

export interface RawAnswer {
  /** The method of the request: an answer to HEAD has no body. */
  readonly method: string;
  readonly http: number;
  readonly contentType: string;
  readonly allow: string | null;
  readonly text: string;
}

/** The `response` of a review, as far as it has been checked. */
export interface ReviewResponse {
  readonly uid: string;
  readonly allowed: boolean;
  readonly status?: {
    readonly code: number;
    readonly reason: string;
    readonly message: string;
    readonly details?: { readonly causes?: readonly { readonly reason: string }[] };
  };
  readonly auditAnnotations?: Readonly<Record<string, string>>;
  readonly warnings?: readonly string[];
}

export type CheckedAnswer =
  | { readonly kind: "review"; readonly response: ReviewResponse }
  | { readonly kind: "httpError" }
  | { readonly kind: "bad"; readonly problem: string };

/** Kubernetes: what a qualified name may be after its slash; the API server puts the name of the webhook before it. */
const auditKey = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

/** `uid`: what the request says, undefined when it says nothing that can be understood. */
export function checkAnswer(
  { method, http, contentType, allow, text }: RawAnswer,
  uid: string | undefined,
): CheckedAnswer {
  if (http === 405) return allow === "POST" ? { kind: "httpError" } : bad("405 without Allow");
  if (http === 404 && (method === "HEAD" ? text === "" : text.startsWith("404 page not found\n")))
    return { kind: "httpError" };
  if (!contentType.startsWith("application/json")) return bad(`HTTP ${http} of type ${contentType}`);
  const body = JSON.parse(text) as Record<string, unknown>;
  if (http === 404 || http === 429 || http === 500) return checkStatus(http, body);
  if (http !== 200 && http !== 400 && http !== 408 && http !== 413) return bad(`HTTP ${http}`);
  if (body["kind"] !== "AdmissionReview" || body["apiVersion"] !== "admission.k8s.io/v1") return bad("no review");
  const response = body["response"] as ReviewResponse;
  if (response.uid !== (http === 408 || http === 413 ? "" : (uid ?? "")))
    return bad(`the UID is ${JSON.stringify(response.uid)}`);
  if (typeof response.allowed !== "boolean" || (response.allowed && http !== 200)) return bad("allowed is no answer");
  return checkParts(response) ?? { kind: "review", response };
}

function checkParts({
  allowed,
  status,
  auditAnnotations = {},
  warnings = [],
}: ReviewResponse): CheckedAnswer | undefined {
  if (allowed !== (status === undefined)) return bad("a status goes with a refusal");
  if (status !== undefined) {
    if (![400, 404, 408, 413, 429, 500, 503].includes(status.code)) return bad(`the code is ${status.code}`);
    if (typeof status.message !== "string" || status.message === "") return bad("no message");
    if (!/^[A-Z][A-Za-z]+$/.test(status.reason)) return bad(`the reason is ${status.reason}`);
  }
  for (const [key, value] of Object.entries(auditAnnotations)) {
    if (!auditKey.test(key) || typeof value !== "string") return bad(`the audit annotation ${key}`);
  }
  return Array.isArray(warnings) && warnings.every((warning) => typeof warning === "string")
    ? undefined
    : bad("warnings");
}

function checkStatus(http: number, body: Record<string, unknown>): CheckedAnswer {
  const { kind, code, message } = body;
  if (kind !== "Status" || code !== http || typeof message !== "string") return bad(`no Status with HTTP ${http}`);
  return message.includes("unexpected failure") ? bad("a mistake of the program was met") : { kind: "httpError" };
}

function bad(problem: string): CheckedAnswer {
  return { kind: "bad", problem };
}
