import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError } from "../../../../../src/kube/kube-client.ts";
import { recordFailure } from "../../../../../src/webhook/decide/refusals/record-failure.ts";
import { type ReservationResult } from "../../../../../src/webhook/protector/status-writer.ts";

const admission = { kind: "admitted", need: "record", isRecorded: false, isRepeated: false } as const;

function failureOf(result: ReservationResult): string | undefined {
  return recordFailure({ kind: "done", result });
}

test("a record that was written, or that nobody needs any more, has not failed", () => {
  assert.equal(failureOf({ kind: "judged", verdict: { ...admission, isRecorded: true } }), undefined);
  assert.equal(failureOf({ kind: "not-in-force" }), undefined);
});

test("a record that was left out has the word of its reason", () => {
  for (const [leftOut, word] of [
    ["full-buffer", "FullBuffer"],
    ["unknown-cell", "UnknownCell"],
  ] as const)
    assert.equal(failureOf({ kind: "judged", verdict: { ...admission, leftOut } }), word);
});

test("a record that its object cannot take has the word of the object's state", () => {
  assert.equal(failureOf({ kind: "vanished" }), "Vanished");
  assert.equal(failureOf({ kind: "unusable", reason: "odd" }), "Unusable");
  assert.equal(failureOf({ kind: "core-unavailable", trouble: "refused" }), "CoreUnavailable");
});

test("a record whose write has failed, came too late or found no room has the word of that", () => {
  assert.equal(recordFailure({ kind: "failed", error: new KubeError("forbidden", "no") }), "forbidden");
  assert.equal(recordFailure({ kind: "cancelled" }), "Cancelled");
  assert.equal(recordFailure({ kind: "overloaded" }), "Overloaded");
});
