import assert from "node:assert/strict";
import { test } from "node:test";
import { readPodRecord, readWorkloadKind } from "../../../src/api/pod.ts";
import { decodeObject, decodeWatchEvent } from "../../../src/kube/protobuf/index.ts";
import { protobufAnswer, protobufEvent } from "./pod-protobuf.ts";

const time = "2026-01-02T03:04:05Z";
const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name: "x",
    namespace: "default",
    uid: "uid-x",
    resourceVersion: "7",
    creationTimestamp: time,
    deletionTimestamp: time,
    deletionGracePeriodSeconds: 30,
    labels: { app: "web" },
    ownerReferences: [
      { apiVersion: "v1", kind: "Other", name: "o", uid: "uid-o" },
      { apiVersion: "apps/v1", kind: "StatefulSet", name: "web", uid: "uid-web", controller: true },
    ],
    managedFields: [{ manager: "kubelet", operation: "Update", time }],
  },
  spec: { nodeName: "node-1" },
  status: {
    phase: "Running",
    conditions: [
      { type: "PodScheduled", status: "True", lastTransitionTime: time },
      { type: "Initialized", status: "True", lastTransitionTime: time },
      { type: "Ready", status: "True", lastTransitionTime: time },
    ],
  },
};

function answered(answer: object): unknown {
  const bytes = protobufAnswer(JSON.stringify(answer));
  assert.ok(bytes);
  return decodeObject(bytes, "an answer");
}

test("the product reads the same of a pod in protobuf and in JSON", () => {
  const read = (one: unknown) => readPodRecord(one, undefined, undefined, readWorkloadKind);
  const record = read(pod);
  assert.ok(record?.isTerminating === true && record.isReady && record.eventTime !== undefined);
  assert.equal(record.workloadKind, "StatefulSet");
  assert.equal(record.controllerKind, "StatefulSet.apps");
  assert.deepEqual(read(answered(pod)), record);
  const list = {
    apiVersion: "v1",
    kind: "PodList",
    metadata: { resourceVersion: "9", continue: "token" },
    items: [pod],
  };
  const decoded = answered(list) as typeof list;
  assert.deepEqual(decoded.metadata, list.metadata);
  assert.deepEqual(decoded.items.map(read), [record]);
});

test("a Status in protobuf says what it says in JSON", () => {
  const details = { causes: [{ reason: "Why", message: "because", field: "spec" }], retryAfterSeconds: 2 };
  const status = {
    apiVersion: "v1",
    kind: "Status",
    status: "Failure",
    message: "no",
    reason: "Gone",
    details,
    code: 410,
  };
  assert.deepEqual(answered(status), status);
});

test("what is no answer about pods has no protobuf", () => {
  for (const text of ["<html>", "null", "[]", '{"kind":"Deployment"}']) assert.equal(protobufAnswer(text), undefined);
});

test("events of a watch are frames, bookmarks and errors too", () => {
  const decoded = (event: Parameters<typeof protobufEvent>[0]) =>
    decodeWatchEvent(protobufEvent(event).subarray(4), "a watch");
  const { type, object } = decoded({ type: "MODIFIED", object: pod });
  assert.deepEqual([type, readPodRecord(object)], ["MODIFIED", readPodRecord(pod)]);
  const metadata = { resourceVersion: "12", annotations: { "k8s.io/initial-events-end": "true" } };
  const bookmark = decoded({ type: "BOOKMARK", object: { apiVersion: "v1", kind: "Pod", metadata } });
  assert.deepEqual(bookmark, { type: "BOOKMARK", object: { apiVersion: "v1", kind: "Pod", metadata } });
});
