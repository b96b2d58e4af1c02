import assert from "node:assert/strict";
import { test } from "node:test";
import { endsPod, nodeNameOf } from "../../../../../src/webhook/decide/subject/disguised-deletion.ts";
import { podGarbageCollector } from "../../support/objects.ts";

const failed = { status: { phase: "Failed" } };
const by = (username: string) => ({ userInfo: { username }, object: failed });

test("a status write ends a pod when pod garbage collection writes that it has finished", () => {
  assert.equal(endsPod(by(podGarbageCollector)), true);
  assert.equal(endsPod(by("system:kube-controller-manager")), true);
  assert.equal(endsPod({ ...by(podGarbageCollector), object: { status: { phase: "Succeeded" } } }), true);
});

test("nobody else's status write ends a pod", () => {
  for (const username of ["", "system:node:node-1", "admin", "system:serviceaccount:shop:pod-garbage-collector"])
    assert.equal(endsPod(by(username)), false, username);
});

test("a status write that leaves the pod alive, or shows no pod, ends none", () => {
  for (const object of [
    { status: { phase: "Running" } },
    { status: null },
    { status: 7 },
    {},
    null,
    undefined,
    [],
    "x",
  ])
    assert.equal(endsPod({ ...by(podGarbageCollector), object }), false);
});

test("the node of a pod is read from its spec, and none where there is no valid name", () => {
  assert.equal(nodeNameOf({ spec: { nodeName: "node-1" } }), "node-1");
  for (const pod of [{ spec: { nodeName: "n".repeat(254) } }, { spec: { nodeName: 7 } }, { spec: null }, null, 7, {}])
    assert.equal(nodeNameOf(pod), "");
});
