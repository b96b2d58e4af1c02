import assert from "node:assert/strict";
import { test } from "node:test";
import { isFilled, readPodSelector } from "../../../../src/api/v1alpha1/label-selector.ts";

const selector = { matchLabels: { app: "web" } };

test("the selector of a workload is read in both forms, and one that selects everything is none", () => {
  const labels = { app: "web", constructor: "a" };
  assert.deepEqual(readPodSelector({ matchLabels: labels, other: 1 }, false), { matchLabels: labels });
  assert.deepEqual(readPodSelector(labels, true), { matchLabels: labels });
  const matchExpressions = [{ key: "app", operator: "In", values: ["web"] }];
  assert.deepEqual(readPodSelector({ matchExpressions }, false), { matchExpressions });
  for (const isLabels of [true, false])
    for (const other of [undefined, null, {}, [], 3, "app=web", { matchLabels: 3 }, { matchExpressions: [{}] }])
      assert.equal(readPodSelector(other, isLabels), undefined, JSON.stringify([other, isLabels]));
});

test("a selector that selects everything is told from one that does not", () => {
  assert.ok(isFilled(selector) && isFilled({ matchExpressions: [{ key: "a", operator: "Exists" }] }));
  assert.ok(!isFilled({}) && !isFilled({ matchLabels: {}, matchExpressions: [] }));
});
