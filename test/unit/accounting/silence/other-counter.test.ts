import assert from "node:assert/strict";
import { test } from "node:test";
import { cellsCountedByOthers } from "../../../../src/accounting/silence/other-counter.ts";
import { type Aggregation } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { cell, counts, timeText } from "../samples.ts";

const counted = (seconds: number, changes: Partial<Aggregation> = {}): Aggregation =>
  counts(3, { lastEventTime: timeText(seconds), ...changes });

test("counts with a newer time and without our newest field were written by an aggregator without heartbeats", () => {
  const before = [cell(counted(1, { countedMinReadySeconds: 0 }), [], "a"), cell(counted(1), [], "b")];
  const after = [cell(counted(2), [], "a"), cell(counted(1), [], "b"), cell(counted(1), [], "c")];
  assert.deepEqual(cellsCountedByOthers(before, after), ["a", "c"]);
});

test("counts of an aggregator with heartbeats, and fields that a Go component has dropped, are no such sign", () => {
  const ours = cell(counted(1, { countedMinReadySeconds: 0 }));
  assert.deepEqual(cellsCountedByOthers([cell(counted(1))], [cell(counted(2, { countedMinReadySeconds: 0 }))]), []);
  assert.deepEqual(cellsCountedByOthers([ours], [cell(counted(1))]), []);
  assert.deepEqual(cellsCountedByOthers([ours], [cell(undefined)]), []);
  assert.deepEqual(cellsCountedByOthers([ours], [cell(counts(3))]), [], "without a time nothing has moved");
});
