import assert from "node:assert/strict";
import { test } from "node:test";
import { parseTime } from "../../../src/api/micro-time.ts";
import { readAnnotations, readLabels, readPodRecord, readWorkloadKind } from "../../../src/api/pod.ts";

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
  assert.deepEqual(readPodRecord(raw), {
    key: "default/web-0",
    namespace: "default",
    name: "web-0",
    uid: "u",
    resourceVersion: "7",
    labels: { app: "web" },
    isTerminating: false,
    isTerminal: false,
    isScheduled: true,
    isInitialized: true,
    isRunning: true,
    isReady: true,
    isUnseen: false,
    readySince: parseTime("2026-01-01T00:00:05Z"),
    eventTime: parseTime("2026-01-01T00:00:00Z"),
    workloadKind: undefined,
    controllerKind: undefined,
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
  const pod = readPodRecord(raw);
  assert.deepEqual(
    [pod?.isScheduled, pod?.isInitialized, pod?.isRunning, pod?.isReady, pod?.readySince],
    [false, false, false, false, undefined],
  );
});

test("a Ready time that is missing, malformed, zero or older than Kubernetes is none", () => {
  const readySince = (lastTransitionTime: unknown) => {
    const ready = { ...condition("Ready", "True"), lastTransitionTime };
    const pod = readPodRecord(podWith({}, { phase: "Running", conditions: [ready] }));
    assert.equal(pod?.isReady, true);
    return pod.readySince;
  };
  for (const none of [undefined, null, "", "yesterday", 5, "0001-01-01T00:00:00Z", "1970-01-01T00:02:00Z", new Date(0)])
    assert.equal(readySince(none), undefined, String(none));
  for (const time of ["2014-06-06T00:00:00Z", "9999-12-31T23:59:59Z"]) assert.equal(readySince(time), parseTime(time));
});

test("Failed and Succeeded are terminal, a deletionTimestamp is terminating", () => {
  assert.equal(readPodRecord(podWith({}, { phase: "Failed" }))?.isTerminal, true);
  assert.equal(readPodRecord(podWith({}, { phase: "Succeeded" }))?.isTerminal, true);
  assert.equal(readPodRecord(podWith({ deletionTimestamp: "2026-01-01T00:00:00Z" }))?.isTerminating, true);
  assert.equal(readPodRecord(podWith({ deletionTimestamp: new Date(0) }))?.isTerminating, true);
  assert.equal(readPodRecord(podWith({ deletionTimestamp: null }))?.isTerminating, false);
});

test("what lacks a name, namespace, UID or version is no pod, and nothing makes it throw", () => {
  for (const field of Object.keys(metadata)) assert.equal(readPodRecord(podWith({ [field]: "" })), undefined, field);
  for (const other of [null, undefined, 1, "x", [], {}, { metadata: null }, { metadata: [] }])
    assert.equal(readPodRecord(other), undefined);
  const odd = {
    metadata: { ...metadata, labels: 5, annotations: [], managedFields: {} },
    status: { conditions: "none", phase: 4 },
  };
  assert.deepEqual(readPodRecord(odd)?.labels, {});
});

test("labels that are not texts are left out, and label sets can be shared", () => {
  assert.deepEqual(readPodRecord(podWith({ labels: { a: "1", b: 2, c: null } }))?.labels, { a: "1" });
  const shared = { app: "web" };
  assert.equal(readPodRecord(podWith({ labels: { app: "web" } }), () => shared)?.labels, shared);
});

test("annotations are read from any object", () => {
  assert.deepEqual(readAnnotations(podWith({ annotations: { a: "", b: 1 } })), { a: "" });
  assert.deepEqual(readAnnotations(null), {});
});

test("the event time is the newest creation, update, touch or deletion, or what the given reader says", () => {
  const status = { conditions: [condition("Ready")] };
  const raw = podWith({ managedFields: [{ time: "2026-01-01T00:00:09Z" }], annotations: { a: "1" } }, status);
  assert.equal(readPodRecord(raw)?.eventTime, parseTime("2026-01-01T00:00:09Z"));
  const asked: unknown[] = [];
  const read = readPodRecord(raw, undefined, (...parts) => {
    asked.push(...parts);
    return undefined;
  });
  assert.equal(read?.eventTime, undefined);
  assert.deepEqual(asked, [(raw as { metadata: object }).metadata, status]);
});

test("labels that are no texts are left out, and without labels there are none", () => {
  assert.deepEqual(readLabels(podWith({ labels: { app: "web", n: 1 } })), { app: "web" });
  assert.deepEqual(readLabels(podWith({})), {});
  assert.deepEqual(readLabels("nonsense"), {});
});

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

test("a pod is unseen when Ready is False without a reason and its containers are ready", () => {
  const conditionsOf = (ready: object, containers = "True") => [
    { type: "ContainersReady", status: containers },
    { type: "Ready", status: "False", ...ready },
  ];
  const isUnseen = (status: object): boolean | undefined =>
    readPodRecord({ metadata: { name: "p", namespace: "ns", uid: "u", resourceVersion: "1" }, status })?.isUnseen;
  const running = { phase: "Running" };
  assert.equal(isUnseen({ ...running, conditions: conditionsOf({}) }), true);
  assert.equal(isUnseen({ ...running, conditions: conditionsOf({}).toReversed() }), true, "in any order");
  assert.equal(isUnseen({ ...running, conditions: conditionsOf({ reason: "" }) }), true);
  assert.equal(isUnseen({ ...running, conditions: conditionsOf({ reason: "ReadinessGatesNotReady" }) }), false);
  assert.equal(isUnseen({ ...running, conditions: conditionsOf({}, "False") }), false);
  assert.equal(isUnseen({ ...running, conditions: conditionsOf({ status: "True" }) }), false);
  assert.equal(isUnseen({ ...running, conditions: conditionsOf({ status: "Unknown" }) }), false);
  assert.equal(isUnseen({ ...running, conditions: [{ type: "ContainersReady", status: "True" }] }), false);
  assert.equal(isUnseen({ phase: "Succeeded", conditions: conditionsOf({}) }), false);
  assert.equal(isUnseen({ phase: "Pending", conditions: conditionsOf({}) }), false);
});

test("the kind of a controller has its group, and one that cannot be a kind is none that a list can name", () => {
  const kindOf = (...ownerReferences: readonly unknown[]) =>
    readPodRecord(podWith({ ownerReferences }, {}))?.controllerKind;
  const owner = (apiVersion: unknown, kind: unknown, controller: unknown = true) => ({ apiVersion, kind, controller });
  assert.equal(kindOf(owner("batch/v1", "Job")), "Job.batch");
  assert.equal(kindOf(owner("v1", "Node")), "Node");
  assert.equal(kindOf(owner("v1", "Node", false), owner("apps/v1", "ReplicaSet")), "ReplicaSet.apps");
  assert.equal(kindOf(owner("batch.volcano.sh/v1alpha1", "Job")), "Job.batch.volcano.sh");
  assert.equal(kindOf(owner("batch/v1", "Job", "true")), undefined, "no controller");
  assert.equal(kindOf(), undefined);
  for (const odd of [owner(1, "Job"), owner("batch/v1", ""), owner("b c/v1", "Job"), owner("batch/v1", "Job.x y")])
    assert.equal(kindOf(odd), "?");
});
