import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { parseTime } from "../../src/api/micro-time.ts";
import { readAnnotations, readPod } from "../../src/api/pod.ts";

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

describe("the newest moment that a pod proves", () => {
  const eventTime = (changes: object): number | undefined => readPod(podWith(changes))?.eventTime;
  test("is its creation, its last update or the touch of the update-trigger", () => {
    const created = { creationTimestamp: "2026-01-01T00:00:00Z" };
    assert.equal(eventTime(created), parseTime("2026-01-01T00:00:00Z"));
    const managed = {
      ...created,
      managedFields: [{ time: "2026-01-01T00:00:09Z" }, { time: "2026-01-01T00:00:03Z" }, {}, null],
    };
    assert.equal(eventTime(managed), parseTime("2026-01-01T00:00:09Z"));
    const touched = {
      ...managed,
      annotations: { "podseidon.kubewharf.io/update-trigger-time": "2026-01-01T00:00:10.5Z" },
    };
    assert.equal(eventTime(touched), parseTime("2026-01-01T00:00:10.5Z"));
  });

  test("is for a deletion the time of the request, not the end of its grace period", () => {
    const deleted = { deletionTimestamp: "2026-01-01T00:01:00Z", deletionGracePeriodSeconds: 30 };
    assert.equal(eventTime(deleted), parseTime("2026-01-01T00:00:30Z"));
    assert.equal(eventTime({ ...deleted, deletionGracePeriodSeconds: 0 }), parseTime("2026-01-01T00:01:00Z"));
  });

  test("is not known from a deletion without a grace period, or from nothing", () => {
    assert.equal(eventTime({ deletionTimestamp: "2026-01-01T00:01:00Z" }), undefined);
    assert.equal(eventTime({}), undefined);
  });
});
