import assert from "node:assert/strict";
import { test } from "node:test";
import { readWorkloadKind } from "../../../src/api/workload-kind.ts";

const ownedBy = (kind: unknown, labels: object = {}) => ({
  labels,
  ownerReferences: [
    { kind: "Other", controller: false },
    { kind, controller: true },
  ],
});

test("the kind of a pod's workload is that of its controller, and of the ReplicaSet's where a label tells", () => {
  assert.equal(readWorkloadKind(ownedBy("StatefulSet")), "StatefulSet");
  assert.equal(readWorkloadKind(ownedBy("ReplicaSet", { "pod-template-hash": "5d4" })), "Deployment");
  assert.equal(readWorkloadKind(ownedBy("ReplicaSet", { "rollouts-pod-template-hash": "5d4" })), "Rollout");
  assert.equal(readWorkloadKind(ownedBy("ReplicaSet")), "ReplicaSet");
  assert.equal(readWorkloadKind(ownedBy("Job", { "pod-template-hash": "5d4" })), "Job");
});

test("a pod that nobody controls is a workload of its own", () => {
  assert.equal(readWorkloadKind({}), "Pod");
  assert.equal(readWorkloadKind({ ownerReferences: [{ kind: "Web", controller: false }, { kind: "Web" }] }), "Pod");
});

test("what cannot be a kind is other, and nothing that the metadata holds throws", () => {
  for (const kind of ["", 1, null, undefined, "a b", "x".repeat(64), "\n", {}])
    assert.equal(readWorkloadKind(ownedBy(kind)), "other");
  for (const ownerReferences of [null, 1, "x", {}, [null, 1, []]])
    assert.equal(readWorkloadKind({ ownerReferences }), "Pod");
});
