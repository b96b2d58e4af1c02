import assert from "node:assert/strict";
import { test } from "node:test";
import { readPodRecord as readRecord } from "../../../../src/api/pod.ts";
import { readPod, readPodList } from "../../../../src/kube/protobuf/pod.ts";
import { readMessage } from "../../../../src/kube/protobuf/message-reader.ts";
import { field, message, pod, podList, time } from "./writer.ts";

const read = (bytes: Buffer): unknown => readMessage(bytes, "test", readPod);

test("a pod becomes the same record as its JSON", () => {
  const as = (time: (text: string) => unknown): { readonly metadata: object; readonly status: object } => ({
    metadata: {
      name: "a",
      namespace: "ns",
      uid: "uid-a",
      resourceVersion: "5",
      creationTimestamp: time("2026-01-02T03:04:05Z"),
      labels: { app: "web" },
      managedFields: [{ time: time("2026-01-02T03:04:09Z") }],
    },
    status: {
      phase: "Running",
      conditions: ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map((type) => ({
        type,
        status: "True",
        lastProbeTime: undefined,
        lastTransitionTime: time("2026-01-02T03:04:05Z"),
      })),
    },
  });
  const expected = as((text) => new Date(text));
  const decoded = read(pod({ name: "a", version: "5", labels: { app: "web" }, annotations: { other: "x" } }));
  assert.deepEqual(decoded, { ...expected, metadata: { ...expected.metadata, annotations: {} } });
  assert.deepEqual(readRecord(decoded), readRecord(as((text) => text)));
  assert.equal(readRecord(decoded)?.isReady, true);
});

test("a pod without status, and a status without anything, are read", () => {
  assert.deepEqual(read(field(1, field(1, "a"))), { metadata: { name: "a" } });
  assert.deepEqual(read(message(field(1, ""), field(3, field(2, "")))), { metadata: {}, status: { conditions: [{}] } });
});

test("a condition has the time of its last probe", () => {
  const condition = message(field(1, "Ready"), field(3, time("2026-01-02T03:04:05Z")), field(4, ""));
  assert.deepEqual(read(field(3, field(2, condition))), {
    metadata: {},
    status: {
      conditions: [{ type: "Ready", lastProbeTime: new Date("2026-01-02T03:04:05Z"), lastTransitionTime: undefined }],
    },
  });
});

test("the items of a list come in order, with the list's version and continue token", () => {
  const names = ["a", "b", "c"];
  const bytes = podList(
    "7",
    "next",
    names.map((name) => pod({ name, version: "5" })),
  );
  const { metadata, items } = readMessage(bytes, "test", readPodList);
  assert.deepEqual(metadata, { resourceVersion: "7", continue: "next" });
  assert.deepEqual(
    items.map((item) => item.metadata.name),
    names,
  );
});
