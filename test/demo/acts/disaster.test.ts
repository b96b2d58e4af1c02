import assert from "node:assert/strict";
import { test } from "node:test";
import { waveOf, waves } from "../../../scripts/demo/acts/disaster.ts";

test("every pod is in one wave, the waves grow, and half of them have asked for a quarter", () => {
  const pods = 120;
  const sizes = Array.from({ length: waves }, () => 0);
  for (let index = 0; index < pods; index += 1) sizes[waveOf(index, pods) - 1]! += 1;
  assert.equal(
    sizes.reduce((total, size) => total + size, 0),
    pods,
  );
  assert.deepEqual(
    sizes,
    [...sizes].sort((a, b) => a - b),
  );
  const early = sizes.slice(0, waves / 2).reduce((total, size) => total + size, 0);
  assert.equal(early, pods / 4);
});

test("a single pod is in the last wave, so that no wave is sent for nothing after it", () => {
  assert.equal(waveOf(0, 1), waves);
});
