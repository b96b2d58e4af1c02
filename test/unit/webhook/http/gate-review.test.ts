import assert from "node:assert/strict";
import { test } from "node:test";
import { type AdmissionRequest } from "../../../../src/webhook/decide/subject.ts";
import { PodCells } from "../../../../src/webhook/decide/pod-cell.ts";
import { warningsOf } from "../../../../src/webhook/http/gate-review.ts";

const dummy = { metadata: { annotations: { "podseidon.kubewharf.io/update-trigger-time": "" } } };

const byURL = new PodCells(undefined, new Set());

function request(change: Partial<AdmissionRequest>): AdmissionRequest {
  const resource = { group: "", version: "v1", resource: "pods" };
  const userInfo = { username: "" };
  const names = { uid: "u", namespace: "n", name: "p" };
  return {
    ...names,
    operation: "DELETE",
    resource,
    subResource: "",
    userInfo,
    dryRun: true,
    oldObject: dummy,
    ...change,
  };
}

test("a dry-run deletion of the dummy pod is answered with the cell", () => {
  assert.deepEqual(warningsOf(request({}), byURL, "worker-1"), ["podseidon: reviewed as cell worker-1"]);
});

test("no other review carries the cell in a warning", () => {
  for (const change of [
    { dryRun: false },
    { dryRun: null },
    { oldObject: { metadata: { annotations: { other: "" } } } },
    { oldObject: { metadata: {} } },
    { oldObject: null },
    { oldObject: "nonsense" },
    { oldObject: undefined },
  ])
    assert.deepEqual(warningsOf(request(change), byURL, "worker-1"), [], JSON.stringify(change));
});

test("with cells by label the warning names the cell of the dummy pod, or that it has none", () => {
  const cells = new PodCells("example.com/cell", new Set(["blue"]));
  const asked = (labels: object) =>
    warningsOf(request({ oldObject: { metadata: { ...dummy.metadata, labels } } }), cells, "by-label");
  assert.deepEqual(asked({ "example.com/cell": "blue" }), ["podseidon: reviewed as cell blue"]);
  assert.deepEqual(asked({ "example.com/cell": "green" }), ["podseidon: reviewed as cell -"]);
  assert.deepEqual(asked({}), ["podseidon: reviewed as cell -"]);
});
