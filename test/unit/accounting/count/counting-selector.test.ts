import assert from "node:assert/strict";
import { test } from "node:test";
import { countingSelector } from "../../../../src/accounting/count/counting-selector.ts";

const selector = { matchLabels: { app: "web", tier: "front" } };

test("a PodProtector counts the pods that it protects", () => {
  assert.equal(countingSelector({ selector }), selector);
});

test("a PodProtector with an aggregationSelector counts the pods of that one, even if it selects every pod", () => {
  const aggregationSelector = {};
  assert.equal(countingSelector({ selector, aggregationSelector }), aggregationSelector);
});
