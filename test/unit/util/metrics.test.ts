import assert from "node:assert/strict";
import { test } from "node:test";
import { asyncLatencySeconds, exponentialBuckets, functionDurationSeconds } from "../../../src/util/metrics.ts";

test("exponential buckets double from 1", () => {
  assert.deepEqual(exponentialBuckets(5), [1, 2, 4, 8, 16]);
  assert.deepEqual(exponentialBuckets(0), []);
});

test("bucket bounds rise strictly, as a histogram needs them", () => {
  for (const bounds of [functionDurationSeconds, asyncLatencySeconds, exponentialBuckets(20)]) {
    for (const [index, bound] of bounds.entries()) assert.ok(bound > (bounds[index - 1] ?? 0));
  }
});
