import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../../src/api/v1alpha1/names.ts";
import {
  KubeError,
  type KubeClient,
  type KubeErrorKind,
  type KubeRequest,
} from "../../../../../src/kube/kube-client.ts";
import { type MonotonicMs } from "../../../../../src/util/clock.ts";
import { createVirtualClock } from "../../../../support/virtual-clock.ts";
import { PodReads } from "../../../../../src/webhook/decide/subject/pod-reads.ts";
import { readRequest } from "../../../../../src/webhook/http/admission-review.ts";
import {
  cellClient,
  criterionOf,
  readReview,
  type Review,
  type Subject,
} from "../../../../../src/webhook/decide/subject/subject.ts";
import { deleteReview, evictReview, type Json, pod } from "../../support/objects.ts";
import { healthCriteria } from "../../support/replica.ts";
import { workerOf } from "../../support/worker.ts";

function reviewOf(
  review: Json,
  answer: (request: KubeRequest) => unknown = () => pod("p"),
  deadlineMs = 9_000,
): Review {
  const read = readRequest(JSON.parse(JSON.stringify(review)));
  assert.ok(read.ok);
  return readReview(
    read.request,
    {
      ...workerOf(answer),
      isKnownCell: () => true,
      podReads: new PodReads(createVirtualClock()),
      healthCriteria,
      clock: createVirtualClock(),
    },
    { cellID: "c1", deadlineMonotonicMs: deadlineMs as MonotonicMs, signal: undefined },
  );
}

async function subjectOf(...parts: Parameters<typeof reviewOf>): Promise<Subject> {
  return reviewOf(...parts).read();
}

test("the subject of a DELETE is the pod in oldObject", async () => {
  const subject = await subjectOf(deleteReview(pod("p"), { name: "something-else" }));
  assert.ok(subject.kind === "deletion");
  assert.equal(subject.pod.key, "ns/p");
  assert.equal(subject.operation, "delete");
  assert.equal(subject.isEvaluateOnly, false);
  assert.equal(subject.isForced, false);
});

test("a worker cluster that answers with more than a pod can be does not fill the memory of the webhook", async () => {
  const asked: KubeRequest[] = [];
  await subjectOf(evictReview("p"), (request) => {
    asked.push(request);
    return pod("p");
  });
  assert.deepEqual(
    asked.map(({ answerBytesMax }) => answerBytesMax),
    [4 * 1024 * 1024],
  );
});

test("a review without the object that it needs fails with upstream's words", async () => {
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

test("a pod with a longer UID or name than Kubernetes has is refused, and neither is quoted", async () => {
  for (const [uidLength, nameLength, namespaceLength, problem] of [
    [128, 253, 63, undefined],
    [129, 1, 1, "its uid has more than 128 characters"],
    [1, 254, 1, "its name has more than 253 characters"],
    [1, 1, 64, "its namespace has more than 63 characters"],
    [900_000, 1, 1, "its uid has more than 128 characters"],
  ] as const) {
    const parts = { uid: "u".repeat(uidLength), namespace: "n".repeat(namespaceLength) };
    const subject = await subjectOf(deleteReview(pod("p".repeat(nameLength), parts)));
    assert.equal(subject.kind, problem === undefined ? "deletion" : "error");
    if (subject.kind !== "error") continue;
    assert.equal(subject.tag, "OldObjectJsonError");
    assert.equal(subject.message, `oldObject is not a Pod: ${problem}`);
  }
});

test("the kind of failure of the worker cluster is named", async () => {
  for (const kind of ["forbidden", "timeout", "network", "serverError"] satisfies KubeErrorKind[]) {
    const subject = await subjectOf(evictReview("p"), () => {
      throw new KubeError(kind, "GET: failed");
    });
    assert.ok(subject.kind === "error");
    assert.equal(subject.tag, `GetEvictedPod/${kind}`);
    assert.match(subject.message, /^cannot get pod for eviction: /);
  }
});

test("an answer of the worker cluster that is no pod is an error", async () => {
  const subject = await subjectOf(evictReview("p"), () => ({ kind: "Status" }));
  assert.ok(subject.kind === "error");
  assert.equal(subject.tag, "PodJsonError");
});

test("the worker cluster is not asked after the deadline", async () => {
  const subject = await subjectOf(evictReview("p"), () => assert.fail("asked"), 0);
  assert.ok(subject.kind === "error");
  assert.equal(subject.tag, "Timeout");
});

test("the worker cluster is not asked for what is no name", async () => {
  for (const name of ["", "..", ".", "a/b", "A", "a?b", "-a", "a".repeat(254)]) {
    const subject = await subjectOf(evictReview(name), () => assert.fail("asked"));
    assert.ok(subject.kind === "error", name);
    assert.equal(subject.tag, "InvalidName");
  }
  assert.equal((await subjectOf(evictReview("a.b-c1"))).kind, "deletion");
});
test("a deletion is forced by the annotation of its pod, an eviction by its own or by its pod's", async () => {
  const forced = { annotations: { [annotations.forceDelete]: "" } };
  assert.equal(reviewOf(deleteReview(pod("p", forced))).isForced, true);
  assert.equal(reviewOf(deleteReview(pod("p"))).isForced, false);
  assert.equal(reviewOf(evictReview("p", { metadata: { name: "p", ...forced } })).isForced, true);
  const ofPod = reviewOf(evictReview("p"), () => pod("p", forced));
  assert.equal(ofPod.isForced, false, "the pod is not read yet");
  assert.equal((await ofPod.read()).isForced, true);
});

test("the pod of an eviction is read each time", async () => {
  let version = 500;
  const review = reviewOf(evictReview("p"), () => pod("p", { resourceVersion: String(version++) }));
  const versions: unknown[] = [];
  for (let time = 0; time < 2; time += 1) {
    const subject = await review.read();
    versions.push(subject.kind === "deletion" && subject.pod.resourceVersion);
  }
  assert.deepEqual(versions, ["500", "501"]);
});

const client = { cluster: "worker" } as unknown as KubeClient;

test("without worker clusters no cell has a client", () => {
  const found = cellClient({ kind: "none" }, "c1", () => true);
  assert.ok(!found.ok);
  assert.equal(found.tag, "NoneProvider");
});

test("a single worker cluster has the pods of every cell that is known", () => {
  const isKnown = (cellID: string): boolean => cellID === "known";
  const found = cellClient({ kind: "single", client }, "known", isKnown);
  assert.ok(found.ok);
  assert.ok(!cellClient({ kind: "single", client }, "anything", isKnown).ok);
  assert.equal(found.client, client);
});

test("a map of worker clusters gives each cell its own, and others are unknown", () => {
  const workers = { kind: "map", clients: new Map([["c1", client]]) } as const;
  assert.ok(cellClient(workers, "c1", () => false).ok);
  const found = cellClient(workers, "c2", () => true);
  assert.ok(!found.ok);
  assert.equal(found.tag, "UnknownCell");
  assert.equal(found.reason, 'unknown cell "c2"');
});

const choices = [
  { criterion: "Scheduled", annotation: { key: "a", value: "S" } },
  { criterion: "Running", annotation: { key: "b", value: "R" } },
] as const;

test("the criterion is the first choice whose annotation has exactly its value", () => {
  assert.equal(criterionOf({ a: "S", b: "R" }, choices), "Scheduled");
  assert.equal(criterionOf({ a: "s", b: "R" }, choices), "Running");
});

test("no criterion is asked for without such an annotation, also for names that every object inherits", () => {
  assert.equal(criterionOf({}, choices), undefined);
  assert.equal(criterionOf({ a: "x" }, choices), undefined);
  const inherited = [{ criterion: "Ready", annotation: { key: "constructor", value: "R" } }] as const;
  assert.equal(criterionOf({}, inherited), undefined);
});

test("an eviction whose preconditions do not fit the pod conflicts, as the API server would find", async () => {
  const evicted = pod("p");
  const { uid, resourceVersion } = (evicted as { metadata: Record<string, string> }).metadata;
  for (const [preconditions, what] of [
    [{ uid: "00000000-0000-0000-0000-000000000000" }, "UID"],
    [{ uid: "" }, "UID"],
    [{ resourceVersion: `${resourceVersion}0` }, "ResourceVersion"],
    [{ uid, resourceVersion: "1" }, "ResourceVersion"],
  ] as const) {
    for (const dryRun of [[], ["All"]]) {
      const subject = await subjectOf(evictReview("p", { deleteOptions: { preconditions, dryRun } }), () => evicted);
      assert.ok(subject.kind === "refused", JSON.stringify(preconditions));
      assert.deepEqual([subject.refusal.code, subject.refusal.reason, subject.isForced], [409, "Conflict", false]);
      assert.match(
        subject.refusal.message,
        new RegExp(`^Operation cannot be fulfilled on Pod "p": the ${what} in the precondition .* in record`),
      );
    }
  }
});

test("preconditions that fit, or are none, change nothing, and a person's force goes before them", async () => {
  const evicted = pod("p");
  const { uid, resourceVersion } = (evicted as { metadata: Record<string, string> }).metadata;
  for (const preconditions of [
    { uid, resourceVersion },
    { uid },
    { resourceVersion },
    {},
    null,
    "text",
    { uid: null },
  ]) {
    const subject = await subjectOf(evictReview("p", { deleteOptions: { preconditions } }), () => evicted);
    assert.ok(subject.kind === "deletion", JSON.stringify(preconditions));
    // The UID alone ties the eviction to no version.
    const isNamed = JSON.stringify(preconditions)?.includes("resourceVersion");
    assert.equal(subject.namesVersion ?? false, isNamed, JSON.stringify(preconditions));
  }
  const forced = { metadata: { annotations: { [annotations.forceDelete]: "" } } };
  const wrong = { ...forced, deleteOptions: { preconditions: { uid: "other", resourceVersion } } };
  const subject = await subjectOf(evictReview("p", wrong), () => evicted);
  assert.ok(subject.kind === "deletion" && subject.isForced && subject.namesVersion === undefined);
});

test("text of a stranger in a precondition is shortened and printable", async () => {
  const preconditions = { uid: `\u202e${"x".repeat(10_000)}` };
  const subject = await subjectOf(evictReview("p", { deleteOptions: { preconditions } }));
  assert.ok(subject.kind === "refused");
  assert.ok(subject.refusal.message.length < 400);
  assert.doesNotMatch(subject.refusal.message, /\u202e/);
});
