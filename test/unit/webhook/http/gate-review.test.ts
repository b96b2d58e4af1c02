import assert from "node:assert/strict";
import { test } from "node:test";
import { type AdmissionRequest } from "../../../../src/webhook/decide/subject.ts";
import { warningsOf } from "../../../../src/webhook/http/gate-review.ts";

const dummy = { metadata: { annotations: { "podseidon.kubewharf.io/update-trigger-time": "" } } };

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
  assert.deepEqual(warningsOf(request({}), "worker-1"), ["podseidon: reviewed as cell worker-1"]);
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
    assert.deepEqual(warningsOf(request(change), "worker-1"), [], JSON.stringify(change));
});
