import assert from "node:assert/strict";
import { test } from "node:test";
import { type Bucket, type CellStatus } from "../../../../../src/api/v1alpha1/pod-protector.ts";
import { LegacyHold } from "../../../../../src/webhook/protector/doubts/legacy-hold.ts";
import { cell as cellJson, deleteReview, pod, protector } from "../../support/objects.ts";
import { world } from "../../support/replica.ts";
import { at } from "../../../../support/moment.ts";
import { anonymous, cell, counts, packed, single } from "../../../accounting/samples.ts";

const byGo = { totalReplicas: 9, availableReplicas: 9 };
const goCell = (buckets: readonly Bucket[], cellID = "a"): CellStatus => cell(byGo, buckets, cellID);
const heldBy = (hold: LegacyHold, cells: readonly CellStatus[], ms: number): string[] =>
  [...hold.held(cells, at(ms))].flatMap(([cellID, uids]) => [...uids].map((uid) => `${cellID}/${uid}`));

/** Remembers x and y of the cell a, and z of b, admitted at 0, 1 and 2 s. */
function remembering(): LegacyHold {
  const hold = new LegacyHold(10_000);
  hold.admitted("a", "x", at(0));
  hold.admitted("a", "y", at(1_000));
  hold.admitted("b", "z", at(2_000));
  return hold;
}

test("nothing is held while the history has it, single or packed", () => {
  const cells = [goCell([single("x"), packed(["y", "other"], 5)]), goCell([single("z")], "b")];
  assert.deepEqual(heldBy(remembering(), cells, 3_000), []);
});

test("what a Go aggregator has dropped is held until the time after its admission is over", () => {
  const hold = remembering();
  const cells = [goCell([]), goCell([anonymous(1)], "b")];
  assert.deepEqual(heldBy(hold, cells, 3_000), ["a/x", "a/y", "b/z"]);
  assert.deepEqual(heldBy(hold, cells, 9_999), ["a/x", "a/y", "b/z"]);
  assert.deepEqual(heldBy(hold, cells, 10_000), ["a/y", "b/z"]);
  assert.deepEqual(heldBy(hold, cells, 11_999), ["b/z"]);
  assert.deepEqual(heldBy(hold, cells, 12_000), []);
});

test("what comes back into the history is held no more, and again when it vanishes again", () => {
  const hold = remembering();
  const dropped = [goCell([]), goCell([], "b")];
  assert.deepEqual(heldBy(hold, dropped, 3_000), ["a/x", "a/y", "b/z"]);
  assert.deepEqual(heldBy(hold, [goCell([single("x")]), goCell([], "b")], 4_000), ["a/y", "b/z"]);
  hold.admitted("a", "x", at(5_000));
  assert.deepEqual(heldBy(hold, dropped, 14_999), ["a/x"]);
});

test("what one of our aggregators has settled, or a cell that was removed has had, is forgotten", () => {
  const hold = remembering();
  assert.deepEqual(heldBy(hold, [cell(counts(9), [], "a")], 3_000), []);
  assert.deepEqual(heldBy(hold, [goCell([]), goCell([], "b")], 4_000), []);
});

test("no more than ten thousand admissions are remembered, the newest", () => {
  const hold = new LegacyHold(10_000);
  for (let index = 0; index <= 10_000; index++) hold.admitted("a", `p${index}`, at(index / 100));
  const held = heldBy(hold, [goCell([])], 200);
  assert.equal(held.length, 10_000);
  assert.equal(held[0], "a/p1");
});

/** Counted by a Go aggregator; it has dropped all admissions. */
const forgotten = (): ReturnType<typeof protector> =>
  protector({ minAvailable: 3, cells: [cellJson("c1", 5, { resourceVersion: undefined })] });

test("a replica goes on subtracting what a Go aggregator has forgotten; with 0 it does not", async () => {
  for (const [legacyCellHoldMs, isAllowed] of [
    [10_000, false],
    [0, true],
  ] as const) {
    const { core, replica } = world([forgotten()], { legacyCellHoldMs });
    for (const name of ["a", "b"]) assert.equal((await replica.review(deleteReview(pod(name)))).allowed, true);
    core.put(forgotten());
    const answer = await replica.review(deleteReview(pod("c")));
    assert.equal(answer.allowed, isAllowed);
    if (!isAllowed) assert.match(answer.message, /Must stay 3, available 5, promised 2, free 0; by cell: "c1" 5 - 2/);
    // Those whose deletion is reviewed again take no other's place.
    assert.equal((await replica.review(deleteReview(pod("a")))).allowed, true);
  }
});

test("a replica whose cell one of our aggregators counts holds nothing that has settled", async () => {
  const counted = (): ReturnType<typeof protector> => protector({ minAvailable: 3, cells: [cellJson("c1", 5)] });
  const { core, replica } = world([counted()]);
  for (const name of ["a", "b"]) assert.equal((await replica.review(deleteReview(pod(name)))).allowed, true);
  core.put(counted());
  assert.equal((await replica.review(deleteReview(pod("c")))).allowed, true);
});
