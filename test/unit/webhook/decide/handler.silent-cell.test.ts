/** What a review gets when cells are silent (docs/accounting.md#silent-cells). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { FakeCells } from "../support/fake-cells.ts";
import { cell, deleteReview, pod, protector } from "../support/objects.ts";
import { world } from "../support/replica.ts";

/** Two cells of 50, and a floor of 50; the second one has been silent since the clock's origin. */
function lostCell() {
  const cells = new FakeCells();
  cells.silentSince.set("c2", 0);
  const parts = world([protector({ minAvailable: 50, cells: [cell("c1", 50), cell("c2", 50)] })], { cells });
  return { ...parts, cells };
}

interface Cause {
  readonly reason: string;
  readonly message: string;
}

function causeOf(body: unknown): Cause | undefined {
  const { response } = body as { response: { status: { details: { causes: Cause[] } } } };
  return response.status.details.causes[0];
}

test("the pods of other cells are refused at the floor, and told which cell is silent, and for how long", async () => {
  const { clock, core, replica } = lostCell();
  await clock.advance(240_000);
  const answer = await replica.review(deleteReview(pod("p")), { cellID: "c1" });
  assert.equal(answer.allowed, false);
  assert.equal(causeOf(answer.body)?.reason, "TooFewReplicas");
  assert.match(answer.message, /; cell "c2" has been silent for 4 min, so what was counted there is left out; with it/);
  assert.match(
    answer.message,
    /by cell: "c1" 50, "c2" silent for 4 min \(50 before\)\. Check the aggregator of cell "c2/,
  );
  assert.match(causeOf(answer.body)?.message ?? "", /^cell "c2" has been silent for 4 min/);
  assert.equal(core.writes, 0);
});

test("a deletion in the silent cell is refused as CellSilent, counted, and says what to do", async () => {
  const { clock, core, replica } = lostCell();
  await clock.advance(240_000);
  const answer = await replica.review(deleteReview(pod("p")), { cellID: "c2" });
  assert.deepEqual([answer.allowed, answer.code, causeOf(answer.body)?.reason], [false, 429, "CellSilent"]);
  const sentence =
    "PodProtector core/ns/web has no news of this cell and is temporarily unable to admit pod deletion: " +
    'nothing has been heard from cell "c2" about this PodProtector for 4 min, ' +
    "so nobody knows how many of its pods are available. ";
  assert.ok(answer.message.startsWith(sentence), answer.message);
  assert.match(answer.message, /the annotation podseidon\.kubewharf\.io\/keep-until on its Lease cell-[0-9a-f]{16}/);
  assert.match(answer.message, /the core cluster, and may write the status of this PodProtector\. For planned/);
  assert.equal(replica.metrics.count('webhook_request{cell="c2",status="CellSilent",cause="DeletePod"}'), 1);
  assert.equal(core.writes, 0);
});

test("a deletion in the silent cell is let through by force, and when its pod needs no quota", async () => {
  const { core, replica } = lostCell();
  const forced = pod("forced", { annotations: { [annotations.forceDelete]: "" } });
  assert.equal((await replica.review(deleteReview(forced), { cellID: "c2" })).allowed, true);
  assert.equal((await replica.review(deleteReview(pod("unready", { ready: false })), { cellID: "c2" })).allowed, true);
  assert.equal(core.writes, 1, "the forced one is recorded");
});

test("with the first beat of the silent cell everything counts as before", async () => {
  const { cells, replica } = lostCell();
  assert.equal((await replica.review(deleteReview(pod("p")), { cellID: "c1" })).allowed, false);
  cells.silentSince.clear();
  assert.equal((await replica.review(deleteReview(pod("p")), { cellID: "c1" })).allowed, true);
  assert.equal((await replica.review(deleteReview(pod("q")), { cellID: "c2" })).allowed, true);
});

test("objects that a cell is behind with are judged without it, all others with it", async () => {
  const cells = new FakeCells();
  cells.silentSince.set("c2/uid-of-behind", 0);
  const two = [cell("c1", 50), cell("c2", 50)];
  const { replica } = world(
    [
      protector({ name: "behind", minAvailable: 50, cells: two, selector: { matchLabels: { app: "behind" } } }),
      protector({ name: "web", minAvailable: 50, cells: two }),
    ],
    { cells },
  );
  const behind = deleteReview(pod("p", { labels: { app: "behind" } }));
  assert.match((await replica.review(behind, { cellID: "c1" })).message, /cell "c2" has been silent/);
  assert.match((await replica.review(behind, { cellID: "c2" })).message, /no news of this cell/);
  assert.equal((await replica.review(deleteReview(pod("q")), { cellID: "c1" })).allowed, true);
  assert.equal((await replica.review(deleteReview(pod("r")), { cellID: "c2" })).allowed, true);
});

test("counts by an aggregator without heartbeats are told to the observer of the cells", async () => {
  const cells = new FakeCells();
  const { core } = world([protector({ cells: [cell("c1", 100)] })], { cells });
  const at = (seconds: number) => ({ lastEventTime: `2026-01-01T00:00:0${seconds}.000000Z` });
  core.put(protector({ cells: [cell("c1", 100, { ...at(1), countedMinReadySeconds: 0 })] }));
  core.deliver();
  assert.deepEqual(cells.countedByOthers, []);
  core.put(protector({ cells: [cell("c1", 100, at(2))] }));
  core.deliver();
  assert.deepEqual(cells.countedByOthers, ["c1"]);
});
