import assert from "node:assert/strict";
import { test } from "node:test";
import { type AdmissionRequest } from "../../../../src/webhook/decide/subject/subject.ts";
import { PodCells } from "../../../../src/webhook/decide/subject/pod-cell.ts";
import { warningsOf } from "../../../../src/webhook/http/gate-review.ts";

const dummy = { metadata: { annotations: { "podseidon.kubewharf.io/update-trigger-time": "" } } };

const productVersion = "1.2.3 (abc)";
const byURL = { cells: new PodCells(undefined, new Set()), productVersion };

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

test("a dry-run deletion of the dummy pod is answered with the cell and the release", () => {
  assert.deepEqual(warningsOf(request({}), byURL, "worker-1"), [
    "podseidon: reviewed as cell worker-1",
    "podseidon: reviewed by release 1.2.3 (abc)",
  ]);
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
  const byLabel = { cells: new PodCells("example.com/cell", new Set(["blue"])), productVersion };
  const asked = (labels: object) =>
    warningsOf(request({ oldObject: { metadata: { ...dummy.metadata, labels } } }), byLabel, "by-label")[0];
  assert.equal(asked({ "example.com/cell": "blue" }), "podseidon: reviewed as cell blue");
  assert.equal(asked({ "example.com/cell": "green" }), "podseidon: reviewed as cell -");
  assert.equal(asked({}), "podseidon: reviewed as cell -");
});
