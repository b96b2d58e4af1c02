import assert from "node:assert/strict";
import { test } from "node:test";
import { type GonePod, settled } from "../../../../src/commands/simulate/replacement.ts";
import { now, pod, type PodFields, protector, type ProtectorFields } from "./support.ts";

function after(fields: ProtectorFields, ...gone: readonly GonePod[]) {
  const { state } = protector("web", fields);
  assert(state.kind === "valid");
  return settled(state.view.protector, gone, now).status;
}

function gone(fields: PodFields = {}, isReplaced = true): GonePod {
  return { cellID: "a", pod: pod("web-1", fields).record, isReplaced };
}

test("a pod that was available and is replaced changes no count, and nothing is promised any more", () => {
  const status = after({ cells: { a: 3, b: 2 }, promised: { a: ["x"], b: ["y"] } }, gone());
  assert.equal(status?.summary.aggregatedAvailableReplicas, 5);
  assert.equal(status?.summary.estimatedAvailableReplicas, 5);
});

test("in place of a pod that was not available there is one that is", () => {
  const status = after({ cells: { a: 2 }, totals: { a: 3 } }, gone({ isReady: false }));
  assert.equal(status?.cells[0]?.aggregation?.availableReplicas, 3);
  assert.equal(status?.cells[0]?.aggregation?.readyReplicas, 3);
  assert.equal(status?.cells[0]?.aggregation?.totalReplicas, 3);
});

test("a pod that nobody replaces is missing from then on", () => {
  const status = after({ cells: { a: 3 } }, gone({}, false));
  assert.equal(status?.cells[0]?.aggregation?.availableReplicas, 2);
  assert.equal(status?.cells[0]?.aggregation?.totalReplicas, 2);
});

test("a pod that had ended already was not counted, and changes nothing", () => {
  const status = after({ cells: { a: 3 } }, gone({ phase: "Failed" }), gone({ metadata: { deletionTimestamp: "x" } }));
  assert.equal(status?.cells[0]?.aggregation?.availableReplicas, 3);
});

test("a pod that is too young is not counted as available, and its replacement is", () => {
  const young = gone({ metadata: {} });
  const spec = { minReadySeconds: 2 * 3600 };
  assert.equal(after({ cells: { a: 2 }, totals: { a: 3 }, spec }, young)?.summary.aggregatedAvailableReplicas, 3);
});

test("only the counts of the pod's cell change, and none are made up", () => {
  const { state } = protector("web", { cells: { b: 2 } });
  assert(state.kind === "valid");
  assert.equal(settled(state.view.protector, [gone({ isReady: false })], now).status?.cells[0]?.cellID, "b");
  assert.equal(after({ cells: { b: 2 } }, gone({ isReady: false }))?.summary.aggregatedAvailableReplicas, 2);
  const { status: _, ...uncounted } = state.view.protector;
  assert.equal(settled(uncounted, [gone()], now), uncounted);
});
