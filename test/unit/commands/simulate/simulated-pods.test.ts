import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import {
  deletionOf,
  drainFlagsFor,
  readSimulatedPod,
  skippedByDrain,
} from "../../../../src/commands/simulate/simulated-pods.ts";
import { pod } from "./support.ts";

test("what a pod says of itself is read: node, controller, criterion, force", () => {
  const read = pod("web-1", {
    node: "node-7",
    annotations: { [annotations.healthCriterion]: "Ready", [annotations.forceDelete]: "" },
  });
  assert.equal(read.node, "node-7");
  assert.equal(read.controllerKind, "ReplicaSet");
  assert.deepEqual(deletionOf(read, "evict", "a"), {
    operation: "evict",
    cellID: "a",
    pod: read.record,
    criterion: "Ready",
    isForced: true,
  });
});

test("a criterion that no annotation may name, and a controller that is none, are as if absent", () => {
  const own = pod("web-1", { annotations: { [annotations.healthCriterion]: "Lovely" }, controllerKind: undefined });
  assert.equal(own.criterion, undefined);
  assert.equal(own.controllerKind, undefined);
  assert.equal(readSimulatedPod({ metadata: {} }), undefined);
});

test("kubectl drain leaves pods of DaemonSets and static pods where they are, but not finished ones", () => {
  assert.equal(skippedByDrain(pod("web-1")), undefined);
  assert.equal(skippedByDrain(pod("agent", { controllerKind: "DaemonSet" })), "daemon-set");
  assert.equal(skippedByDrain(pod("agent", { controllerKind: "DaemonSet", phase: "Failed" })), undefined);
  assert.equal(skippedByDrain(pod("etcd", { annotations: { "kubernetes.io/config.mirror": "x" } })), "mirror");
});

test("kubectl drain asks for a flag for DaemonSets, for data that is lost, and for pods that nobody replaces", () => {
  const volumes = [{ name: "cache", emptyDir: {} }];
  assert.deepEqual(drainFlagsFor(pod("web-1")), []);
  assert.deepEqual(drainFlagsFor(pod("agent", { controllerKind: "DaemonSet", spec: { volumes } })), [
    "--ignore-daemonsets",
  ]);
  assert.deepEqual(drainFlagsFor(pod("web-1", { spec: { volumes }, controllerKind: undefined })), [
    "--delete-emptydir-data",
    "--force",
  ]);
  assert.deepEqual(drainFlagsFor(pod("done", { phase: "Succeeded", controllerKind: undefined })), []);
  assert.deepEqual(drainFlagsFor(pod("etcd", { annotations: { "kubernetes.io/config.mirror": "x" } })), []);
});
