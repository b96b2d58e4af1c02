import assert from "node:assert/strict";
import test from "node:test";
import { parseTime } from "../../../src/api/micro-time.ts";
import { readAnnotations, readPod } from "../../../src/api/pod.ts";

const metadata = { name: "web-0", namespace: "default", uid: "u", resourceVersion: "7" };
const condition = (type: string, status = "True"): object => ({
  type,
  status,
  lastTransitionTime: "2026-01-01T00:00:05Z",
});
const podWith = (changes: object, status: object = {}): object => ({ metadata: { ...metadata, ...changes }, status });

test("a pod becomes a flat record", () => {
  const raw = podWith(
    { labels: { app: "web" }, creationTimestamp: "2026-01-01T00:00:00Z" },
    { phase: "Running", conditions: ["PodScheduled", "Initialized", "Ready"].map((type) => condition(type)) },
  );
  assert.deepEqual(readPod(raw), {
    key: "default/web-0",
    namespace: "default",
    name: "web-0",
    uid: "u",
    resourceVersion: "7",
    labels: { app: "web" },
    terminating: false,
    terminal: false,
    scheduled: true,
    initialized: true,
    running: true,
    ready: true,
    readySince: parseTime("2026-01-01T00:00:05Z"),
    eventTime: parseTime("2026-01-01T00:00:00Z"),
  });
});

test("conditions that are not True do not hold, and readySince is only of a Ready pod", () => {
  const raw = podWith(
    {},
    {
      phase: "Pending",
      conditions: [condition("PodScheduled", "False"), condition("Ready", "Unknown"), condition("Initialized", "true")],
    },
  );
  const pod = readPod(raw);
  assert.deepEqual(
    [pod?.scheduled, pod?.initialized, pod?.running, pod?.ready, pod?.readySince],
    [false, false, false, false, undefined],
  );
});

test("Failed and Succeeded are terminal, a deletionTimestamp is terminating", () => {
  assert.equal(readPod(podWith({}, { phase: "Failed" }))?.terminal, true);
  assert.equal(readPod(podWith({}, { phase: "Succeeded" }))?.terminal, true);
  assert.equal(readPod(podWith({ deletionTimestamp: "2026-01-01T00:00:00Z" }))?.terminating, true);
  assert.equal(readPod(podWith({ deletionTimestamp: new Date(0) }))?.terminating, true);
  assert.equal(readPod(podWith({ deletionTimestamp: null }))?.terminating, false);
});

test("what lacks a name, namespace, UID or version is no pod, and nothing makes it throw", () => {
  for (const field of Object.keys(metadata)) assert.equal(readPod(podWith({ [field]: "" })), undefined, field);
  for (const other of [null, undefined, 1, "x", [], {}, { metadata: null }, { metadata: [] }])
    assert.equal(readPod(other), undefined);
  const odd = {
    metadata: { ...metadata, labels: 5, annotations: [], managedFields: {} },
    status: { conditions: "none", phase: 4 },
  };
  assert.deepEqual(readPod(odd)?.labels, {});
});

test("labels that are not texts are left out, and label sets can be shared", () => {
  assert.deepEqual(readPod(podWith({ labels: { a: "1", b: 2, c: null } }))?.labels, { a: "1" });
  const shared = { app: "web" };
  assert.equal(readPod(podWith({ labels: { app: "web" } }), () => shared)?.labels, shared);
});

test("annotations are read from any object", () => {
  assert.deepEqual(readAnnotations(podWith({ annotations: { a: "", b: 1 } })), { a: "" });
  assert.deepEqual(readAnnotations(null), {});
});

test("the event time is the newest creation, update, touch or deletion, or what the given reader says", () => {
  const status = { conditions: [condition("Ready")] };
  const raw = podWith({ managedFields: [{ time: "2026-01-01T00:00:09Z" }], annotations: { a: "1" } }, status);
  assert.equal(readPod(raw)?.eventTime, parseTime("2026-01-01T00:00:09Z"));
  const asked: unknown[] = [];
  const read = readPod(raw, undefined, (...parts) => {
    asked.push(...parts);
    return undefined;
  });
  assert.equal(read?.eventTime, undefined);
  assert.deepEqual(asked, [(raw as { metadata: object }).metadata, status]);
});
