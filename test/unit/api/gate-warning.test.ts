import assert from "node:assert/strict";
import { test } from "node:test";
import { cellOfGateWarning, gateWarning, releaseOfWarning, releaseWarning } from "../../../src/api/gate-warning.ts";

test("the warning of a webhook says for which cell it was called, and is read back", () => {
  assert.equal(gateWarning("worker-1"), "podseidon: reviewed as cell worker-1");
  assert.equal(cellOfGateWarning(gateWarning("worker-1")), "worker-1");
});

test("a second warning says the release, and neither is taken for the other", () => {
  assert.equal(releaseOfWarning(releaseWarning("0.1.0 (abc)")), "0.1.0 (abc)");
  assert.equal(cellOfGateWarning(releaseWarning("0.1.0 (abc)")), undefined);
  assert.equal(releaseOfWarning(gateWarning("a")), undefined);
});

test("the warning of another webhook names no cell", () => {
  assert.equal(cellOfGateWarning("allowed by force-delete or dry-run: podseidon: reviewed as cell a"), undefined);
  assert.equal(cellOfGateWarning(""), undefined);
});
