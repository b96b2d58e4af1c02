import assert from "node:assert/strict";
import { test } from "node:test";
import { createCellMetrics } from "../../../../src/kube/cell-leases/cell-metrics.ts";
import { type ObservedCell } from "../../../../src/accounting/silence/cell-silence.ts";
import { at } from "../../../support/moment.ts";
import { createCountingMetrics } from "../counting-metrics.ts";

const labels = { core: "core", observer: "webhook" };

function cell(cellID: string): ObservedCell {
  return {
    cellID,
    lease: undefined,
    state: { kind: "beating" },
    beatAt: at(1_000),
    silentSince: undefined,
    behind: new Map([["digest", at(0)]]),
  };
}

test("a cell that is forgotten is in no state", () => {
  const counting = createCountingMetrics();
  const metrics = createCellMetrics(counting, labels);
  metrics.show([cell("a")], at(3_000));
  assert.equal(counting.value("cell_state", { ...labels, cell: "a", state: "beating" }), 1);
  assert.equal(counting.value("cell_beat_age_seconds", { ...labels, cell: "a" }), 2);
  assert.equal(counting.value("cell_behind_podprotectors", { ...labels, cell: "a" }), 1);
  metrics.show([], at(4_000));
  assert.equal(counting.value("cell_state", { ...labels, cell: "a", state: "beating" }), 0);
  assert.equal(counting.value("cell_beat_age_seconds", { ...labels, cell: "a" }), 0);
  assert.equal(counting.value("cell_behind_podprotectors", { ...labels, cell: "a" }), 0);
});

test("at most 1,000 cells have series of their own", () => {
  const counting = createCountingMetrics();
  const metrics = createCellMetrics(counting, labels);
  metrics.show(
    Array.from({ length: 1_001 }, (_, index) => cell(`c${index}`)),
    at(3_000),
  );
  assert.equal(counting.value("cell_state", { ...labels, cell: "c999", state: "beating" }), 1);
  assert.equal(counting.value("cell_state", { ...labels, cell: "c1000", state: "beating" }), 0);
});
