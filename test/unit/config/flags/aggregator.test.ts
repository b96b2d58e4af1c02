import assert from "node:assert/strict";
import { test } from "node:test";
import { aggregatorFlags } from "../../../../src/config/flags/aggregator.ts";
import { defaults } from "./defaults.ts";

test("the aggregator's defaults are upstream's, but it settles by observing and runs the update-trigger", () => {
  const found = defaults(aggregatorFlags);
  const expected = {
    "aggregator-cell-id": "default",
    "aggregator-podprotector-label-selector": {},
    "aggregator-pod-label-selector": {},
    "aggregator-rate-jitter-low": 0.5,
    "aggregator-rate-jitter-high": 1,
    "aggregator-informer-synctime-algorithm": "observed",
    "aggregator-informer-synctime-algorithm.annotation-key": "",
    "aggregator-settlement-fence-delay": 10_000,
    "aggregator-settle-window": 75_000,
    "aggregator-leader-elector-name": "",
    "update-trigger-enable": true,
    "update-trigger-update-frequency": 1_000,
    "update-trigger-dummy-pod-name": "podseidon-update-trigger",
    "update-trigger-dummy-pod-namespace": "",
    "update-trigger-dummy-pod-labels": {},
    "update-trigger-dummy-pod-annotations": {},
    "update-trigger-dummy-pod-image": ":",
    "update-trigger-dummy-pod-scheduler": "do-not-schedule",
  };
  for (const [name, value] of Object.entries(expected)) assert.deepEqual(found[name], value, name);
});

test("an image name without characters or with spaces is refused", () => {
  const { type } = aggregatorFlags["update-trigger-dummy-pod-image"];
  assert(!type.parse("").ok);
  assert(!type.parse("a b").ok);
});
