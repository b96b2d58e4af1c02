import assert from "node:assert/strict";
import { test } from "node:test";
import { noCellID } from "../../../src/api/cell-id.ts";
import { KnownCells } from "../../../src/webhook/known-cells.ts";
import { cell, deleteReview, pod, protector } from "./support/objects.ts";
import { world } from "./support/replica.ts";

test("cells are known by a flag, by their counts, or because a pod has none, and at most 1,000 of them", () => {
  assert.equal(new KnownCells([]).isEmpty, true);
  const cells = new KnownCells(["a"]);
  assert.equal(cells.isEmpty, false);
  assert.deepEqual(
    ["a", noCellID, "b"].map((cellID) => cells.has(cellID)),
    [true, true, false],
  );
  for (let index = 0; index < 2_000; index += 1) cells.counted(`c${index}`);
  assert.deepEqual(
    ["a", "c0", "c900", "c1999"].map((cellID) => cells.has(cellID)),
    [true, true, true, false],
  );
});

test("a cell gets a label value of its own when an aggregator has counted it, and not by reviews", async () => {
  const bucket = { startTime: "2026-01-01T00:00:00.000000Z", podUID: "uid-q", counter: 1 };
  const ghost = { cellID: "ghost", admissionHistory: { buckets: [bucket] } };
  const { replica } = world([protector({ cells: [cell("c1", 100), ghost] })]);
  for (const cellID of ["c1", "ghost", "invented"]) {
    for (let turn = 0; turn < 2; turn += 1) await replica.review(deleteReview(pod(`p${turn}`)), { cellID });
  }
  assert.equal(replica.metrics.count('webhook_request{cell="c1"'), 2);
  assert.equal(replica.metrics.count('webhook_request{cell="other"'), 4);
  assert.equal(replica.metrics.count("webhook_request{"), 6);
});
