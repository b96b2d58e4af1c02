import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { KubeError, type KubeClient, type KubeErrorKind } from "../../../../src/kube/kube-client.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { readReview } from "../../../../src/webhook/http/admission-review.ts";
import { type Subject, readSubject } from "../../../../src/webhook/decide/subject.ts";
import { deleteReview, evictReview, type Json, pod } from "../support/objects.ts";
import { healthCriteria } from "../support/replica.ts";

/** A worker cluster that answers every request with `answer`. */
function worker(answer: () => unknown): KubeClient {
  return {
    cluster: "worker",
    request: async () => answer(),
    stream: () => Promise.reject(new KubeError("serverError", "no watches here")),
    close: () => Promise.resolve(),
  };
}

async function subjectOf(
  review: Json,
  answer: () => unknown = () => pod("p"),
  deadlineMonotonicMs = 9_000,
): Promise<Subject> {
  const read = readReview(JSON.parse(JSON.stringify(review)));
  assert.ok(read.ok);
  return readSubject(read.request, {
    cellID: "c1",
    workers: { kind: "single", client: worker(answer) },
    healthCriteria,
    clock: createVirtualClock(),
    deadlineMonotonicMs,
    signal: undefined,
  });
}

describe("subjects", () => {
  it("are deletions of the pod in oldObject", async () => {
    const subject = await subjectOf(deleteReview(pod("p"), { name: "something-else" }));
    assert.ok(subject.kind === "deletion");
    assert.equal(subject.pod.key, "ns/p");
    assert.equal(subject.operation, "delete");
    assert.equal(subject.isEvaluateOnly, false);
    assert.equal(subject.isForced, false);
  });

  it("fail with upstream's words when oldObject or object is missing or null", async () => {
    for (const [review, tag, message] of [
      [deleteReview(undefined), "EmptyOldObject", "oldObject is missing in delete review request"],
      [deleteReview(null), "NilOldObject", "oldObject is nil"],
      [deleteReview({}), "OldObjectJsonError", "oldObject is not a Pod with name, namespace, uid and resourceVersion"],
      [evictReview("p", {}, { object: undefined }), "EmptyObject", "object is missing in eviction review request"],
      [evictReview("p", {}, { object: null }), "NilObject", "object is nil in eviction review request"],
    ] as const) {
      const subject = await subjectOf(review);
      assert.ok(subject.kind === "error");
      assert.equal(subject.tag, tag);
      assert.equal(subject.message, message);
    }
  });

  it("name the kind of failure of the worker cluster", async () => {
    for (const kind of ["forbidden", "timeout", "network", "serverError"] satisfies KubeErrorKind[]) {
      const subject = await subjectOf(evictReview("p"), () => {
        throw new KubeError(kind, "GET: failed");
      });
      assert.ok(subject.kind === "error");
      assert.equal(subject.tag, `GetEvictedPod/${kind}`);
      assert.match(subject.message, /^cannot get pod for eviction: /);
    }
  });

  it("fail when the worker cluster answers with something else than a pod", async () => {
    const subject = await subjectOf(evictReview("p"), () => ({ kind: "Status" }));
    assert.ok(subject.kind === "error");
    assert.equal(subject.tag, "PodJsonError");
  });

  it("do not ask the worker cluster after the deadline", async () => {
    const subject = await subjectOf(evictReview("p"), () => assert.fail("asked"), 0);
    assert.ok(subject.kind === "error");
    assert.equal(subject.tag, "Timeout");
  });

  it("do not ask it for names that are none", async () => {
    for (const name of ["", "..", ".", "a/b", "A", "a?b", "-a", "a".repeat(254)]) {
      const subject = await subjectOf(evictReview(name), () => assert.fail("asked"));
      assert.ok(subject.kind === "error", name);
      assert.equal(subject.tag, "InvalidName");
    }
    assert.equal((await subjectOf(evictReview("a.b-c1"))).kind, "deletion");
  });
});
