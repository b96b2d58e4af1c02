import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonObject } from "../../double/index.ts";
import { ReviewCounts } from "../../../scripts/demo/world/review-counts.ts";

const livePod: JsonObject = { request: { oldObject: { metadata: { name: "pod" } } } };

test("reviews wait until they are answered, then count as admitted or refused", async () => {
  const counts = new ReviewCounts();
  const answer = Promise.withResolvers<unknown>();
  const call = counts.count(() => answer.promise);
  const calls = [call({}, livePod, 1000), call({}, livePod, 1000)];
  assert.deepEqual(counts.reviews, { admitted: 0, refused: 0, waiting: 2, unanswered: 0 });
  answer.resolve({ response: { allowed: true } });
  await Promise.all(calls);
  await counts.count(async () => ({ response: { allowed: false } }))({}, livePod, 1000);
  assert.deepEqual(counts.reviews, { admitted: 2, refused: 1, waiting: 0, unanswered: 0 });
});

test("a broken connection counts as unanswered and still reaches the caller", async () => {
  const counts = new ReviewCounts();
  const call = counts.count(() => Promise.reject(new Error("reset")));
  await assert.rejects(call({}, livePod, 1000), /reset/);
  assert.deepEqual(counts.reviews, { admitted: 0, refused: 0, waiting: 0, unanswered: 1 });
});

test("the confirmation of a deletion that is under way is passed on but not counted", async () => {
  const counts = new ReviewCounts();
  const terminating = { request: { oldObject: { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } } } };
  const answer = await counts.count(async () => "passed on")({}, terminating, 1000);
  assert.equal(answer, "passed on");
  assert.deepEqual(counts.reviews, { admitted: 0, refused: 0, waiting: 0, unanswered: 0 });
});

test("a dry run, such as the aggregator's probe, is passed on but not counted", async () => {
  const counts = new ReviewCounts();
  const answer = await counts.count(async () => "passed on")({}, { request: { dryRun: true } }, 1000);
  assert.equal(answer, "passed on");
  assert.deepEqual(counts.reviews, { admitted: 0, refused: 0, waiting: 0, unanswered: 0 });
});
