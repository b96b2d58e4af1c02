import assert from "node:assert/strict";
import { test } from "node:test";
import { type Verdict } from "../../../../src/accounting/reserve/reservation.ts";
import { type Deletion } from "../../../../src/webhook/deletion.ts";
import { LastKnownQuota } from "../../../../src/webhook/outage/last-known-quota.ts";
import { judge, type ProtectorView, withStatus } from "../../../../src/webhook/protector/protector-view.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { cell, type Json, deleteReview, pod, protector } from "../support/objects.ts";
import { settings, world } from "../support/replica.ts";
import { allInForce, deletionOf, protectorView } from "../support/views.ts";

const rule = { ...settings, clock: createVirtualClock() };

function view(count: number, version = 10, buckets: readonly Json[] = []): ProtectorView {
  return protectorView({ cells: [cell("c1", count, {}, buckets)] }, version);
}

const deletions = (count: number, prefix = "p") =>
  Array.from({ length: count }, (_, index) => deletionOf(`${prefix}${index}`));

function verdictsOf(quota: LastKnownQuota, state: ProtectorView, asked: readonly Deletion[]): readonly Verdict[] {
  const judgeByStatus: Parameters<LastKnownQuota["admit"]>[1] = (status, some) =>
    judge(withStatus(state, status), allInForce, some, rule);
  return quota.admit(state.protector.status, judgeByStatus, asked);
}

function admitted(quota: LastKnownQuota, state: ProtectorView, asked: readonly Deletion[]): number {
  return verdictsOf(quota, state, asked).filter(({ kind }) => kind === "admitted").length;
}

for (const replicas of [1, 2, 3, 7, 25]) {
  test(`each of ${replicas} replicas admits its share of 20, so that all together never admit more`, () => {
    const quota = new LastKnownQuota(replicas);
    const state = view(100);
    assert.equal(admitted(quota, state, deletions(50)), Math.floor(20 / replicas));
    assert.equal(admitted(quota, state, deletions(50, "q")), 0);
    assert.equal(quota.unrecorded.length, Math.floor(20 / replicas));
  });
}

test("the last known quota is what is left of it after the unsettled admissions", () => {
  const unsettled = Array.from({ length: 15 }, (_, index) => ({
    startTime: "2026-01-01T00:00:00Z",
    podUID: `x${index}`,
    podResourceVersion: "1",
  }));
  assert.equal(admitted(new LastKnownQuota(1), view(100, 10, unsettled), deletions(50)), 5);
});

test("a pod takes of the last known quota once, however often it is asked", () => {
  const quota = new LastKnownQuota(1);
  const state = view(81);
  for (let round = 0; round < 3; round++) assert.equal(admitted(quota, state, [deletionOf("p")]), 1);
  assert.equal(admitted(quota, state, [deletionOf("q")]), 0);
  assert.equal(quota.unrecorded.length, 1);
});

test("an admission is remembered as answered: forced, so that recording it asks for no quota again", () => {
  const quota = new LastKnownQuota(1);
  verdictsOf(quota, view(100), [deletionOf("p")]);
  assert.deepEqual(
    quota.unrecorded.map(({ pod, isForced }) => [pod.name, isForced]),
    [["p", true]],
  );
});

test("what was admitted counts against a newer state as well", () => {
  const quota = new LastKnownQuota(1);
  assert.equal(admitted(quota, view(100), deletions(15)), 15);
  assert.equal(admitted(quota, view(90, 11), deletions(15, "q")), 0);
  assert.equal(admitted(quota, view(100, 12), deletions(15, "r")), 5);
});

test("a newer spec counts for the same status", () => {
  const quota = new LastKnownQuota(1);
  const state = view(100);
  assert.equal(admitted(quota, state, deletions(15)), 15);
  const { protector } = state;
  const raised = { ...state, protector: { ...protector, spec: { ...protector.spec, minAvailable: 84 } } };
  assert.equal(admitted(quota, raised, deletions(15, "q")), 1);
});

test("the other replicas leave no trace in what is remembered of the status", () => {
  const quota = new LastKnownQuota(3);
  const state = view(80);
  const [verdict] = verdictsOf(quota, state, [deletionOf("p")]);
  assert.equal(verdict?.kind, "rejected");
  assert.equal(state.protector.status?.cells.length, 1);
  assert.deepEqual(quota.unrecorded, []);
});

// Repeated reviews of a pod that was admitted on the last known quota: what is recorded and what is reserved
// (docs/accounting.md) holds while the core takes no writes as well.

const lastKnown = {
  coreUnavailable: { isLastKnownAllowed: () => true, isUnreadyWhenSilent: () => false, replicas: 1 },
};

/** The core takes no writes, and has not for longer than three seconds. */
async function outage(count: number) {
  const { clock, core, replica } = world([protector({ minAvailable: 80, cells: [cell("c1", count)] })], lastKnown);
  core.touch();
  core.script = ({ method }) => (method === "PUT" ? { refuse: "serverError", code: 500 } : "none");
  assert.equal((await replica.review(deleteReview(pod("first")))).allowed, true, "on the last known quota");
  return { clock, core, replica };
}

// Until that version the deletion can commit.
test("a repeated review of a pod admitted on the last known quota raises the version that is recorded", async () => {
  const { clock, core, replica } = await outage(100);
  assert.equal((await replica.review(deleteReview(pod("p", { resourceVersion: "500" })))).allowed, true);
  assert.equal((await replica.review(deleteReview(pod("p", { resourceVersion: "600" })))).allowed, true);
  const stale = await replica.review(deleteReview(pod("p", { resourceVersion: "550" })));
  assert.equal(stale.allowed, true, "from an API server that lags behind");
  core.script = () => "none";
  await clock.advance(10_000);
  const versions = new Map(core.buckets("ns/web").map((bucket) => [bucket["podUID"], bucket["podResourceVersion"]]));
  assert.deepEqual([versions.size, versions.get("uid-first"), versions.get("uid-p")], [2, "500", "600"]);
});

test("a repeated review of a pod admitted on the last known quota is refused when pods failed meanwhile", async () => {
  const { core, replica } = await outage(81);
  core.update("ns/web", ({ cells }) => {
    const [only] = cells as [Json];
    only["aggregation"] = { ...(only["aggregation"] as Json), availableReplicas: 80, resourceVersion: "1001" };
  });
  const again = await replica.review(deleteReview(pod("first", { resourceVersion: "600" })));
  assert.equal(again.allowed, false);
  assert.match(again.message, /reports too few available replicas/);
});
