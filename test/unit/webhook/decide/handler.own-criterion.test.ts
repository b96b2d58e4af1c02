/** PodProtectors with a criterion of their own (docs/webhook.md#health-criteria). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { cell, deleteReview, type Json, pod, protector, type ProtectorParts } from "../support/objects.ts";
import { world } from "../support/replica.ts";

function having(healthCriterion: unknown, parts: ProtectorParts = {}): Json {
  const object = protector({ cells: [cell("c1", 80, { availableReplicas: 100 })], ...parts });
  return { ...object, spec: { ...(object["spec"] as Json), healthCriterion } };
}

const unready = pod("p", { ready: false });

test("a deletion that asks for no criterion is judged by that of the PodProtector: count and pod alike", async () => {
  const { replica } = world([having("Running")]);
  assert.match((await replica.review(deleteReview(unready))).message, /too few running replicas/);
  assert.match((await replica.review(deleteReview(pod("q")))).message, /too few running replicas/);
  const { replica: byReady } = world([having("Ready")]);
  assert.equal((await byReady.review(deleteReview(unready))).allowed, true);
  assert.equal((await byReady.review(deleteReview(pod("q")))).code, 429);
});

test("what the deletion asks for takes precedence", async () => {
  const { replica } = world([having("Running")]);
  const asking = pod("p", { ready: false, annotations: { [annotations.healthCriterion]: "Ready" } });
  assert.equal((await replica.review(deleteReview(asking))).allowed, true);
});

test("several PodProtectors judge by their own each", async () => {
  const { core, replica } = world([having("Available"), having("Scheduled", { name: "other", minAvailable: 50 })]);
  assert.equal((await replica.review(deleteReview(unready))).allowed, true);
  assert.deepEqual([core.buckets("ns/web").length, core.buckets("ns/other").length], [0, 1]);
});

test("a pod that meets the criterion of none is let go without a write", async () => {
  const { core, replica } = world([having("Available"), having("Ready", { name: "other" })]);
  assert.equal((await replica.review(deleteReview(unready))).allowed, true);
  assert.deepEqual(core.requests, []);
  assert.equal(replica.metrics.count('webhook_request{cell="c1",status="AlreadyUnready"'), 1);
});

test("an unknown criterion counts as absent, whatever it is", async () => {
  for (const odd of ["running", "", 5, null, { a: 1 }]) {
    const { replica } = world([having(odd)]);
    assert.equal((await replica.review(deleteReview(unready))).allowed, true, JSON.stringify(odd));
    assert.equal((await replica.review(deleteReview(pod("q")))).allowed, true, JSON.stringify(odd));
  }
});
