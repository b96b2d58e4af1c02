import assert from "node:assert/strict";
import { test } from "node:test";
import { cellOfGateWarning, gateWarning } from "../../../src/api/gate-warning.ts";

test("the warning of a webhook says for which cell it was called, and is read back", () => {
  assert.equal(gateWarning("worker-1"), "podseidon: reviewed as cell worker-1");
  assert.equal(cellOfGateWarning(gateWarning("worker-1")), "worker-1");
});

test("the warning of another webhook names no cell", () => {
  assert.equal(cellOfGateWarning("allowed by force-delete or dry-run: podseidon: reviewed as cell a"), undefined);
  assert.equal(cellOfGateWarning(""), undefined);
});
