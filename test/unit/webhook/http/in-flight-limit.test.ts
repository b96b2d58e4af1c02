import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { type AdmissionRequest, readReview } from "../../../../src/webhook/http/admission-review.ts";
import { InFlightLimit, reviewsInFlightMax } from "../../../../src/webhook/http/in-flight-limit.ts";
import { deleteReview, evictReview, pod } from "../support/objects.ts";

function requestOf(review: unknown): AdmissionRequest {
  const read = readReview(review);
  assert.ok(read.ok);
  return read.request;
}

const forced = { [annotations.forceDelete]: "true" };
const plain = requestOf(deleteReview(pod("p")));

function fullLimit(dryRun = false): InFlightLimit {
  const limit = new InFlightLimit(dryRun);
  for (let count = 0; count < reviewsInFlightMax; count += 1) assert.equal(limit.enter(plain), undefined);
  return limit;
}

describe("the limit of reviews in flight", () => {
  it("refuses one more with a 429 that can be repeated, until another has left", () => {
    const limit = fullLimit();
    const refusal = limit.enter(plain);
    assert.equal(refusal?.code, 429);
    assert.equal(refusal.status, "Overloaded");
    assert.match(refusal.message, /4000 other reviews .* Try again/);
    limit.leave();
    assert.equal(limit.inFlight, reviewsInFlightMax - 1);
    assert.equal(limit.enter(plain), undefined);
    assert.notEqual(limit.enter(plain), undefined);
  });

  it("does not refuse forced deletions and evictions", () => {
    const limit = fullLimit();
    assert.equal(limit.enter(requestOf(deleteReview(pod("p", { annotations: forced })))), undefined);
    assert.equal(limit.enter(requestOf(evictReview("p", { metadata: { name: "p", annotations: forced } }))), undefined);
    assert.notEqual(limit.enter(requestOf(evictReview("p"))), undefined);
  });

  it("refuses nothing in a dry run", () => {
    assert.equal(fullLimit(true).enter(plain), undefined);
  });
});
