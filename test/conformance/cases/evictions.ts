/** Evictions: their single review, preconditions, and PodDisruptionBudgets as somebody else computes them. */
import assert from "node:assert/strict";
import { bodies } from "../bodies.ts";
import { theme } from "../case.ts";
import { causes, ok, refused } from "../expect.ts";
import { type Space, summary } from "../scope.ts";
import { meta, statusOf, versionOf } from "../thing.ts";

/** A running pod and a budget for it with this status. */
async function budgeted(space: Space, status: object): Promise<void> {
  await space.livePod("a");
  const conditions = [{ type: "Ready", status: "True" }];
  ok(await space.pods.merge("a/status", { status: { phase: "Running", conditions } }));
  const budgets = space.of("poddisruptionbudgets");
  await budgets.create(bodies.budget("web"));
  ok(
    await budgets.merge("web/status", {
      status: { observedGeneration: 1, currentHealthy: 3, desiredHealthy: 2, ...status },
    }),
  );
}

const plain = theme("eviction", {
  "moves the version twice: by the condition, and by the mark": async (t) => {
    const space = await t.space();
    const created = await space.livePod("a");
    ok(await space.evict("a"), 201);
    const stream = await space.pods.watch({ resourceVersion: versionOf(created), timeoutSeconds: 1 });
    const marks = (await stream.rest()).map(({ object }) => meta(object).deletionTimestamp !== undefined);
    assert.deepEqual(marks, [false, true]);
  },
  "is reviewed once, as a creation of pods/eviction without the pod": async (t) => {
    const space = await t.space("deletions");
    await space.livePod("a");
    ok(await space.evict("a"), 201);
    assert.deepEqual(summary(space.reviews), ["CREATE eviction"]);
    const [review] = space.reviews;
    assert.deepEqual(review?.kind, { group: "policy", version: "v1", kind: "Eviction" });
    assert.deepEqual(review?.resource, { group: "", version: "v1", resource: "pods" });
    assert.deepEqual([review?.name, review?.object?.kind, review?.oldObject], ["a", "Eviction", null]);
  },
  "deletes the pod although it changed while the review ran": async (t) => {
    const space = await t.space("deletions");
    await space.livePod("a");
    space.review(async () => {
      ok(await space.pods.merge("a/status", { metadata: { annotations: { fence: "1" } } }));
      return { allowed: true };
    });
    ok(await space.evict("a"), 201);
    assert.equal(space.reviews.length, 1);
    assert.notEqual(meta(await space.pods.read("a")).deletionTimestamp, undefined);
  },
  "in a dry run is reviewed and changes nothing": async (t) => {
    const space = await t.space("deletions");
    const created = await space.livePod("a");
    ok(await space.evict("a", {}, { dryRun: "All" }), 201);
    ok(await space.evict("a", { deleteOptions: { dryRun: ["All"] } }), 201);
    // Only the query makes it a dry run to the webhook.
    assert.deepEqual(
      space.reviews.map(({ dryRun }) => dryRun),
      [true, false],
    );
    assert.deepEqual(await space.pods.read("a"), created);
  },
});

const budget = theme("eviction with a budget", {
  "takes one disruption and remembers the pod": async (t) => {
    const space = await t.space();
    await budgeted(space, { disruptionsAllowed: 1 });
    ok(await space.evict("a"), 201);
    const status = statusOf(await space.of("poddisruptionbudgets").read("web"));
    assert.equal(status.disruptionsAllowed, 0);
    assert.deepEqual(Object.keys(status.disruptedPods ?? {}), ["a"]);
  },
  "without disruptions is refused with 429 and what is missing, and the pod stays": async (t) => {
    const space = await t.space();
    await budgeted(space, { disruptionsAllowed: 0 });
    const message = "Cannot evict pod as it would violate the pod's disruption budget.";
    const why = async (expected: string): Promise<void> => {
      const status = refused(await space.evict("a"), 429, "TooManyRequests", message);
      assert.deepEqual(causes(status), [
        { reason: "DisruptionBudget", message: `The disruption budget web ${expected}` },
      ]);
    };
    await why("does not allow evicting pods currently");
    ok(await space.of("poddisruptionbudgets").merge("web/status", { status: { currentHealthy: 2 } }));
    await why("needs 2 healthy pods and has 2 currently");
    assert.equal(meta(await space.pods.read("a")).deletionTimestamp, undefined);
  },
  "whose status is behind its spec is refused": async (t) => {
    const space = await t.space();
    await budgeted(space, { disruptionsAllowed: 1, observedGeneration: 0 });
    const status = refused(await space.evict("a"), 429, "TooManyRequests", /disruption budget/);
    assert.match(causes(status)[0]?.message ?? "", /is still being processed by the server/);
  },
  "in a dry run takes nothing": async (t) => {
    const space = await t.space();
    await budgeted(space, { disruptionsAllowed: 1 });
    ok(await space.evict("a", {}, { dryRun: "All" }), 201);
    assert.equal(statusOf(await space.of("poddisruptionbudgets").read("web")).disruptionsAllowed, 1);
  },
  "does not ask it for a pod that does not run yet": async (t) => {
    const space = await t.space();
    await budgeted(space, { disruptionsAllowed: 0 });
    await space.livePod("b");
    ok(await space.evict("b"), 201);
  },
  "lets a pod go that is not ready, as long as enough others are": async (t) => {
    const space = await t.space();
    await budgeted(space, { disruptionsAllowed: 0 });
    const notReady = { status: { conditions: [{ type: "Ready", status: "False" }] } };
    ok(await space.pods.merge("a/status", notReady));
    ok(await space.evict("a"), 201);
    assert.equal(statusOf(await space.of("poddisruptionbudgets").read("web")).disruptedPods, undefined);
  },
  "keeps a pod that is not ready, when too few others are": async (t) => {
    const space = await t.space();
    await budgeted(space, { disruptionsAllowed: 0, currentHealthy: 1 });
    ok(await space.pods.merge("a/status", { status: { conditions: [{ type: "Ready", status: "False" }] } }));
    refused(await space.evict("a"), 429, "TooManyRequests", /disruption budget/);
  },
  "of two budgets is refused as an error of the server": async (t) => {
    const space = await t.space();
    await budgeted(space, { disruptionsAllowed: 1 });
    await space.of("poddisruptionbudgets").create(bodies.budget("other"));
    refused(await space.evict("a"), 500, "", /^This pod has more than one PodDisruptionBudget/);
  },
});

export const evictionCases = [...plain, ...budget];
