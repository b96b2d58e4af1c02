/** A PodProtector without a floor refuses nothing (docs/accounting.md#what-is-recorded). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { cell, deleteReview, evictReview, type Json, pod, protector } from "../support/objects.ts";
import { world } from "../support/replica.ts";

const noFloor = (minAvailable = 0, cells: readonly Json[] = [cell("c1", 1)]): Json =>
  protector({ minAvailable, cells });

test("a PodProtector without a floor admits whatever the counts say, and records it", async () => {
  for (const minAvailable of [0, -1]) {
    const { core, replica } = world([noFloor(minAvailable, [cell("c1", 0)])]);
    assert.equal((await replica.review(deleteReview(pod("p")))).allowed, true);
    assert.equal((await replica.review(deleteReview(pod("q")))).allowed, true);
    assert.equal(core.buckets("ns/web").length, 2);
  }
});

test("a PodProtector without a floor admits when the cell has no counts, or those of another spec", async () => {
  for (const cells of [[], [cell("c1", 5, { countedSpec: "another" })]]) {
    const { replica } = world([noFloor(0, cells)]);
    assert.equal((await replica.review(deleteReview(pod("p")))).allowed, true);
  }
});

test("a PodProtector without a floor admits when its core takes no writes, and counts that", async () => {
  const { core, replica } = world([noFloor()]);
  core.script = ({ method }) => (method === "PUT" ? { refuse: "forbidden", code: 403 } : "none");
  assert.equal((await replica.review(deleteReview(pod("p")))).allowed, true);
  assert.equal(replica.metrics.count('webhook_record_failure{error="forbidden"}'), 1);
  core.script = () => ({ refuse: "network" });
  assert.equal((await replica.review(deleteReview(pod("q")))).allowed, true);
  assert.equal(replica.metrics.count('webhook_record_failure{error="Cancelled"}'), 1);
});

test("the webhook refuses when a newer state of a PodProtector without a floor has one", async () => {
  const { core, replica } = world([noFloor(0, [cell("c1", 2)])]);
  core.watches = false;
  core.put(protector({ minAvailable: 2, cells: [cell("c1", 2)] }));
  const answer = await replica.review(deleteReview(pod("p")));
  assert.equal(answer.allowed, false);
  assert.match(answer.message, /Must stay 2/);
});

test("a PodProtector without a floor lifts no other's", async () => {
  const { core, replica } = world([noFloor(), protector({ name: "zone", minAvailable: 2, cells: [cell("c1", 2)] })]);
  assert.equal((await replica.review(deleteReview(pod("p")))).allowed, false);
  assert.equal(core.writes, 0);
});

test("the eviction of a pod that has finished is allowed without counts, and writes nothing", async () => {
  for (const phase of ["Succeeded", "Failed"]) {
    const finished = { ...pod("p", { ready: false }), status: { phase } };
    let readings = 0;
    const request = async () => {
      readings += 1;
      return finished;
    };
    const stream = () => Promise.reject(new Error("no watches here"));
    const client = { cluster: "worker", request, stream, close: async () => {} };
    const { core, replica } = world([protector()], { workers: { kind: "single", client } });
    assert.equal((await replica.review(evictReview("p"))).allowed, true);
    assert.deepEqual([core.writes, readings], [0, 1]);
  }
});
