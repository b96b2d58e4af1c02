import assert from "node:assert/strict";
import { test } from "node:test";
import { answer, malformedAnswer, readRequest } from "../../../../src/webhook/http/admission-review.ts";
import { allowed, refusedForNow } from "../../../../src/webhook/decide/decision.ts";

const resource = { group: "", version: "v1", resource: "pods" };

test("the reading of a review takes absent texts as empty and ignores unknown fields", () => {
  const read = readRequest({ request: { uid: "u", operation: "DELETE", resource, future: 1 } });
  assert.ok(read.ok);
  assert.equal(read.request.subResource, "");
  assert.equal(read.request.name, "");
  assert.equal(read.request.userInfo.username, "");
  assert.equal("future" in read.request, false);
});

test("the reading of a review says which field is wrong", () => {
  const read = readRequest({ request: { uid: "u", operation: "DELETE", resource: { ...resource, version: 1 } } });
  assert.ok(!read.ok);
  assert.match(read.reason, /^request\.resource\.version: /);
  assert.equal(read.uid, "u");
});

test("the answer to a review says nothing but uid and allowed when there is nothing more to say", () => {
  assert.deepEqual(answer("u", allowed("Unmatched")), {
    kind: "AdmissionReview",
    apiVersion: "admission.k8s.io/v1",
    response: { uid: "u", allowed: true },
  });
});

test("the answer to a review puts warnings and audit annotations beside an admission", () => {
  const decision = { kind: "allowed", status: "Rejected", audit: { "dry-run": "1" }, warnings: ["w"] } as const;
  assert.deepEqual((answer("u", decision) as { response: object }).response, {
    uid: "u",
    allowed: true,
    auditAnnotations: { "dry-run": "1" },
    warnings: ["w"],
  });
});

test("the warnings of the gate come beside those of an admission, and with a refusal", () => {
  const warnings = (decision: Parameters<typeof answer>[1]): unknown =>
    (answer("u", decision, ["gate"]) as { response: { warnings?: unknown } }).response.warnings;
  assert.deepEqual(warnings({ kind: "allowed", status: "Unmatched", audit: {}, warnings: ["w"] }), ["w", "gate"]);
  assert.deepEqual(warnings(refusedForNow("Overloaded", "words")), ["gate"]);
});

test("the answer to a refused review has a Status that clients understand", () => {
  const refusal = refusedForNow("Overloaded", "words", [{ reason: "R", message: "m", field: "f" }], { a: "b" });
  assert.deepEqual((answer("u", refusal) as { response: object }).response, {
    uid: "u",
    allowed: false,
    status: {
      metadata: {},
      status: "Failure",
      message: "words",
      reason: "TooManyRequests",
      code: 429,
      details: { causes: [{ reason: "R", message: "m", field: "f" }] },
    },
    auditAnnotations: { a: "b" },
  });
});

test("the answer keeps the code of a malformed body and of an internal error", () => {
  assert.deepEqual(malformedAnswer("u", 413, "large"), {
    kind: "AdmissionReview",
    apiVersion: "admission.k8s.io/v1",
    response: {
      uid: "u",
      allowed: false,
      status: { metadata: {}, status: "Failure", message: "large", reason: "BadRequest", code: 413 },
    },
  });
});

test("what is said of a wrong field quotes nothing of the request", () => {
  const body = { request: { uid: "u", operation: { x: "<script>" }, resource: {}, dryRun: "<script>" } };
  for (const request of [body.request, { ...body.request, operation: "DELETE" }]) {
    const read = readRequest({ request });
    assert.ok(!read.ok);
    assert.match(read.reason, /^request\.(operation: must be string|dryRun: must be .*boolean.*)$/);
    assert.doesNotMatch(read.reason, /script/);
  }
});
