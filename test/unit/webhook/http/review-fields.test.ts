import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { PodCells } from "../../../../src/webhook/decide/subject/pod-cell.ts";
import { PodReads } from "../../../../src/webhook/decide/subject/pod-reads.ts";
import { readReview } from "../../../../src/webhook/decide/subject/subject.ts";
import { readRequest } from "../../../../src/webhook/http/admission-review.ts";
import { warningsOf } from "../../../../src/webhook/http/gate-review.ts";
import { reviewFields } from "../../../../src/webhook/http/review-fields.ts";
import { later, longAgo } from "../../../../src/util/clock.ts";
import { deletionReview } from "../../../bench/reviews/review-text.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { deleteReview, endReview, evictReview, type Json, pod } from "../support/objects.ts";
import { healthCriteria } from "../support/replica.ts";

const keptOf = (text: string): string => {
  const fields = reviewFields(Buffer.from(text));
  assert.ok(fields.ok, fields.ok ? "" : fields.reason);
  return fields.text;
};
const reasonOf = (text: string): string => {
  const fields = reviewFields(Buffer.from(text));
  assert.ok(!fields.ok, text);
  return fields.reason;
};

/** All that the webhook takes from a body. */
async function readingOf(text: string): Promise<unknown> {
  const read = readRequest(JSON.parse(text));
  if (!read.ok) return read;
  const { object: _, oldObject: __, ...identity } = read.request;
  const context = { cellID: "c1", deadlineMonotonicMs: later(longAgo, 0), signal: undefined };
  const clock = createVirtualClock();
  const podReads = new PodReads(clock);
  const options = { workers: { kind: "none" }, isKnownCell: () => true, podReads, healthCriteria, clock } as const;
  const { read: subject, ...review } = readReview(read.request, options, context);
  return { identity, review, subject: await subject(), warnings: warningsOf(read.request, answering, "c1") };
}
const answering = { cells: new PodCells(undefined, new Set()), productVersion: "1.0.0" };

const marked = (key: string) => pod("p", { annotations: { [key]: "Ready" }, nodeName: "n1" });
const samples: readonly (readonly [string, unknown])[] = [
  ["a whole pod", deletionReview("web-1", "web")],
  ["a pod that terminates", deleteReview(pod("p", { terminating: true }))],
  ["a forced deletion", deleteReview(marked(annotations.forceDelete))],
  ["a criterion", deleteReview(marked(annotations.healthCriterion))],
  ["a probe of the gate", deleteReview(marked(annotations.updateTriggerTime), { dryRun: true })],
  ["an object besides", deleteReview(pod("p"), { object: pod("q", { annotations: { x: "y" } }) })],
  ["no old object", deleteReview(null)],
  ["an old object that is none", deleteReview([1, { metadata: {} }])],
  ["the end of a pod", endReview(pod("p", { nodeName: "n1" }))],
  ["an eviction", evictReview("p")],
  [
    "an eviction with preconditions",
    evictReview("p", { deleteOptions: { preconditions: { uid: "u", resourceVersion: "7", other: ["x"] } } }),
  ],
  ["a dry run of an eviction", evictReview("p", { deleteOptions: { dryRun: ["All"], gracePeriodSeconds: 5 } })],
  ["a forced eviction", evictReview("p", { metadata: { annotations: { [annotations.forceDelete]: "" } } })],
  ["an eviction without object", evictReview("p", {}, { object: null })],
  ["another request", deleteReview(pod("p"), { operation: "CONNECT" })],
  ["a request without operation", { request: { uid: "u" } }],
  ["a list as the request", { request: [{ uid: "u" }] }],
  ["an unknown version", { kind: "AdmissionReview", apiVersion: "v9", request: {} }],
];

test("what is kept of a review reads like the whole of it", async () => {
  for (const [what, review] of samples) {
    for (const text of [JSON.stringify(review), JSON.stringify(review, null, "\t")]) {
      assert.deepEqual(await readingOf(keptOf(text)), await readingOf(text), what);
    }
  }
});

test("nothing is kept that no decision needs", () => {
  const review = deletionReview("web-1", "web") as { request: Json };
  const text = JSON.stringify({ ...review, request: { ...review.request, object: pod("q"), extra: { a: [1] } } });
  const kept = keptOf(text);
  assert.ok(kept.length < text.length / 2, kept);
  for (const dropped of ["managedFields", "containers", "options", "requestKind", "groups", "extra"]) {
    assert.ok(text.includes(`"${dropped}":`), dropped);
    assert.ok(!kept.includes(dropped), dropped);
  }
});

test("texts are kept as they are, whatever characters they have", () => {
  for (const value of ['"', "\\", '\\"', "{[,]}:", "ä€😀\u0000\n", "\\\\"]) {
    const review = deleteReview(pod("p", { annotations: { [value]: value }, labels: { x: value } }));
    const text = JSON.stringify({ before: { [value]: [value] }, ...review });
    const { request } = JSON.parse(keptOf(text)) as { request: { oldObject: { metadata: Json } } };
    assert.deepEqual(request.oldObject.metadata["annotations"], { [value]: value });
    assert.deepEqual(request.oldObject.metadata["labels"], { x: value });
  }
});

test("a body that is nested more than 64 levels deep is refused, wherever that is", () => {
  const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
  for (const place of [
    '{"x":HERE}',
    '{"request":{"options":HERE}}',
    '{"request":{"oldObject":{"metadata":{"labels":HERE}}}}',
  ]) {
    const depth = place.split("{").length - 1;
    keptOf(place.replace("HERE", nested(64 - depth)));
    assert.match(reasonOf(place.replace("HERE", nested(65 - depth))), /nested more than 64 levels deep/);
    assert.match(reasonOf(place.replace("HERE", "[".repeat(1_000_000))), /nested more than 64 levels deep/);
  }
});

test("a body with more than 20,000 labels is refused, and what is dropped is not counted", () => {
  const labels = (count: number): string =>
    `{${Array.from({ length: count }, (_, index) => `"k${index}":""`).join(",")}}`;
  const withLabels = (count: number): string => `{"request":{"oldObject":{"metadata":{"labels":${labels(count)}}}}}`;
  keptOf(withLabels(19_000));
  assert.match(reasonOf(withLabels(21_000)), /more than 20000 labels/);
  keptOf(`{"request":{"oldObject":{"spec":{"x":${labels(300_000)}}}}}`);
});

test("what is no JSON is refused with its position, and quotes nothing", () => {
  for (const text of [
    "",
    " ",
    "{",
    '{"a',
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":[',
    '{"a":[1',
    '{"a":"\\',
    '{"a":1,',
    "{,",
    '{"a" 1}',
  ]) {
    assert.match(
      reasonOf(text),
      /^error parsing JSON body: unexpected (end of JSON input|character at position \d+)$/,
      text,
    );
  }
  for (const text of ["{}x", "{a:1}", '{"a":1,}', '{"a":}', "]", '{"a":1]', "{} {}"]) {
    assert.match(reasonOf(text), /^error parsing JSON body: unexpected character at position \d+$/, text);
  }
});

test("any damage of a body ends in fields or a reason", () => {
  const rng = createSeededRng(7);
  const text = JSON.stringify(deletionReview("web-1", "web"));
  const random = (below: number): number => Math.floor(rng.next() * below);
  for (let turn = 0; turn < 3_000; turn += 1) {
    const bytes = Buffer.from(text);
    for (let change = random(4); change >= 0; change -= 1)
      bytes[random(bytes.length)] = '{}[]",:\\ x'.charCodeAt(random(10));
    const length = random(2) === 0 ? bytes.length : random(bytes.length);
    const fields = reviewFields(bytes.subarray(0, length));
    if (fields.ok) assert.ok(fields.text.length <= text.length);
  }
});
