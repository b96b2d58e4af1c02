/**
 * Repeated reviews of a pod that was admitted on the last known quota: what is recorded and what is reserved
 * (docs/accounting.md) holds while the core takes no writes as well.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { cell, deleteReview, type Json, pod, protector } from "../support/objects.ts";
import { world } from "../support/replica.ts";

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
