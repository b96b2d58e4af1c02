/**
 * AdmissionReview of admission.k8s.io/v1 on the wire: reading what the API server asks, and writing the answer. Unknown
 * fields are ignored, keys are case-sensitive. A refusal's status reaches the person who asked: the API server puts
 * "admission webhook ... denied the request: " before the message.
 */
import * as v from "valibot";
import { asObject } from "../../api/json.ts";
import { type Decision } from "../decide/decision.ts";
import { type AdmissionRequest } from "../decide/subject/subject.ts";

const apiVersion = "admission.k8s.io/v1";
const kind = "AdmissionReview";

const text = v.optional(v.string(), "");
const requestSchema: v.GenericSchema<unknown, AdmissionRequest> = v.object({
  uid: v.string(),
  operation: v.string(),
  resource: v.object({ group: text, version: text, resource: text }),
  subResource: text,
  namespace: text,
  name: text,
  userInfo: v.optional(v.object({ username: text }), { username: "" }),
  dryRun: v.nullish(v.boolean()),
  object: v.optional(v.unknown()),
  oldObject: v.optional(v.unknown()),
});

export type RequestResult =
  | { readonly ok: true; readonly request: AdmissionRequest }
  /** `uid` is the request's where it has one, else "". `reason` is for people. */
  | { readonly ok: false; readonly uid: string; readonly reason: string };

/**
 * Reads a parsed body. Never throws. As upstream, apiVersion and kind may be absent; other ones than v1's are refused.
 */
export function readRequest(body: unknown): RequestResult {
  const review = asObject(body);
  const request = asObject(review?.["request"]);
  const uid = typeof request?.["uid"] === "string" ? request["uid"] : "";
  if (review === undefined) return { ok: false, uid, reason: "the body is not an AdmissionReview" };
  if ((review["kind"] ?? kind) !== kind || (review["apiVersion"] ?? apiVersion) !== apiVersion) {
    return { ok: false, uid, reason: `only ${kind} of ${apiVersion} is understood` };
  }
  if (request === undefined) return { ok: false, uid, reason: "the AdmissionReview has no request" };
  const result = v.safeParse(requestSchema, request);
  if (result.success) return { ok: true, request: result.output };
  const issue = result.issues[0];
  // The message of the issue would quote what came.
  return {
    ok: false,
    uid,
    reason: `request.${v.getDotPath(issue) ?? ""}: must be ${issue.expected ?? "another value"}`,
  };
}

/** The answer to the review `uid`; `warnings` come beside those of the decision. */
export function answer(
  uid: string,
  decision: Exclude<Decision, { readonly kind: "error" }>,
  warnings: readonly string[] = [],
): object {
  const { audit } = decision;
  const all = decision.kind === "allowed" ? [...decision.warnings, ...warnings] : warnings;
  const response = {
    uid,
    allowed: decision.kind === "allowed",
    ...(decision.kind === "refused" && { status: refusalStatus(decision) }),
    ...(Object.keys(audit).length > 0 && { auditAnnotations: audit }),
    ...(all.length > 0 && { warnings: all }),
  };
  return { kind, apiVersion, response };
}

/** The answer to a body that is no review that can be decided: a refusal with this HTTP status code. */
export function malformedAnswer(uid: string, code: number, message: string): object {
  return { kind, apiVersion, response: { uid, allowed: false, status: failure(code, "BadRequest", message) } };
}

function refusalStatus({ code, reason, message, causes }: Extract<Decision, { readonly kind: "refused" }>): object {
  return { ...failure(code, reason, message), ...(causes.length > 0 && { details: { causes } }) };
}

function failure(code: number, reason: string, message: string): object {
  return { metadata: {}, status: "Failure", message, reason, code };
}
