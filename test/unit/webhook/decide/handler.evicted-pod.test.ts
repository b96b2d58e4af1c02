/** The pod of an eviction is bound to no version: it may change between its reading and the record of its eviction. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeClient } from "../../../../src/kube/kube-client.ts";
import { cell, evictReview, type Json, pod, protector } from "../support/objects.ts";
import { world } from "../support/replica.ts";

const notReady = (resourceVersion: string) => pod("p", { ready: false, resourceVersion });
const ready = (resourceVersion: string) => pod("p", { resourceVersion });

/** Answers each GET with the next state; the last one stays. */
function worker(states: readonly Json[]): { client: KubeClient; readings: () => number } {
  let readings = 0;
  const client: KubeClient = {
    cluster: "worker",
    request: async () => states[Math.min(readings++, states.length - 1)],
    stream: () => Promise.reject(new Error("no watches here")),
    close: async () => {},
  };
  return { client, readings: () => readings };
}

/** 80 required; `count` there. */
function worldOf(count: number, states: readonly Json[]) {
  const { client, readings } = worker(states);
  return { ...world([protector({ cells: [cell("c1", count)] })], { workers: { kind: "single", client } }), readings };
}

test("an evicted pod that was not healthy is read once more after its eviction was recorded", async () => {
  const { core, replica, readings } = worldOf(80, [notReady("5")]);
  assert.equal((await replica.review(evictReview("p"))).allowed, true);
  assert.equal(readings(), 2);
  assert.equal(core.buckets("ns/web").length, 1);
});

test("an evicted pod that was not healthy needs quota when it has become healthy meanwhile", async () => {
  const states = [notReady("5"), ready("6")];
  assert.equal((await worldOf(80, states).replica.review(evictReview("p"))).code, 429);
  const { core, replica } = worldOf(81, states);
  assert.equal((await replica.review(evictReview("p"))).allowed, true);
  assert.equal(core.buckets("ns/web").length, 1);
});

test("an evicted pod that was not healthy is judged and read again when it changed and is still not", async () => {
  const { replica, readings } = worldOf(80, [notReady("5"), notReady("6"), notReady("6")]);
  assert.equal((await replica.review(evictReview("p"))).allowed, true);
  assert.equal(readings(), 3);
});

test("an evicted pod that was not healthy is not admitted when it changes at every read", async () => {
  const states = ["5", "6", "7", "8", "9"].map(notReady);
  const answer = await worldOf(80, states).replica.review(evictReview("p"));
  assert.equal(answer.http, 500);
  assert.match(answer.message, /changed 3 times while it was judged/);
});

test("an evicted pod is not read again when it was healthy, or when the eviction is forced", async () => {
  const healthy = worldOf(90, [ready("5")]);
  assert.equal((await healthy.replica.review(evictReview("p"))).allowed, true);
  assert.equal(healthy.readings(), 1);
  const forced = worldOf(80, [notReady("5")]);
  const metadata = { annotations: { "podseidon.kubewharf.io/force-delete": "" } };
  assert.equal((await forced.replica.review(evictReview("p", { metadata }))).allowed, true);
  assert.equal(forced.readings(), 1);
});
