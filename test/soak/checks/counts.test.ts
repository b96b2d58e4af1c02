import assert from "node:assert/strict";
import { test } from "node:test";
import { differences, type PodCount, type SeenProtector } from "./counts.ts";

const count = (total: number, available: number): PodCount => ({ total, available });
const cells = new Map([
  ["worker-1", new Map([["shop/web", count(3, 3)]])],
  ["worker-2", new Map([["shop/web", count(2, 1)]])],
]);
const right: SeenProtector = {
  workload: "shop/web",
  cells: new Map([
    ["worker-1", count(3, 3)],
    ["worker-2", count(2, 1)],
  ]),
  summary: count(5, 4),
  buckets: 0,
};
const found = (protector: SeenProtector): readonly string[] => differences(["shop/web"], [protector], cells);

test("a PodProtector that counts what the clusters list is right", () => {
  assert.deepEqual(found(right), []);
});

test("a count of one cell that is not what its cluster lists is a difference", () => {
  const counted = new Map([...right.cells, ["worker-2", count(2, 2)] as const]);
  assert.deepEqual(found({ ...right, cells: counted }), [
    "shop/web in worker-2: counted are 2 of 2 pods available, listed 1 of 2 pods available",
  ]);
});

test("a cell that is not counted has to be one without pods", () => {
  const [first] = right.cells;
  assert.equal(found({ ...right, cells: new Map([first!]) }).length, 1);
  const empty = new Map([...cells, ["worker-3", new Map()] as const]);
  assert.deepEqual(differences(["shop/web"], [right], empty), []);
});

test("a summary that is not the sum of the cells is a difference", () => {
  assert.deepEqual(found({ ...right, summary: count(5, 5) }), [
    "shop/web: the summary has 5 of 5 pods available, the cells 4 of 5 pods available",
  ]);
});

test("an admission that nobody settled is a difference", () => {
  assert.deepEqual(found({ ...right, buckets: 2 }), ["shop/web: 2 admissions are still open"]);
});

test("a workload without PodProtector, and a PodProtector without workload, are differences", () => {
  assert.deepEqual(differences(["shop/new"], [right], cells), [
    "shop/web: there is a PodProtector and no workload",
    "shop/new: there is no PodProtector",
  ]);
});
