import assert from "node:assert/strict";
import { test } from "node:test";
import { deployments } from "../../../src/sources/deployment.ts";
import { readSource, replicasOf } from "../../../src/sources/read-source.ts";

const metadata = { name: "web", namespace: "default", uid: "u", resourceVersion: "7" };
const selector = { matchLabels: { app: "web" } };

test("what the generator needs of the metadata is read, and the raw object is not kept", () => {
  const raw = {
    metadata: {
      ...metadata,
      labels: { a: "1" },
      finalizers: ["f"],
      deletionTimestamp: "2026-01-01T00:00:00Z",
      ownerReferences: [
        { apiVersion: "v1", kind: "ConfigMap" },
        { apiVersion: "argoproj.io/v1alpha1", kind: "Rollout", controller: true },
      ],
    },
    spec: { replicas: 3, selector, template: { spec: {} } },
  };
  const { spec, ...record } = readSource(deployments, raw)!;
  assert.equal(spec.replicas, 3);
  assert.deepEqual(record, {
    kind: deployments,
    key: "default/web",
    namespace: "default",
    name: "web",
    uid: "u",
    resourceVersion: "7",
    labels: { a: "1" },
    finalizers: ["f"],
    isTerminating: true,
    deletedAt: 1_767_225_600_000_000,
    owner: { apiVersion: "argoproj.io/v1alpha1", kind: "Rollout" },
    isControlled: true,
    writers: { replicas: undefined, strategy: undefined, labels: undefined, overrides: undefined },
    overrides: record.overrides,
  });
});

test("absent fields are absent, and an owner need not be a controller", () => {
  const record = readSource(deployments, { metadata, spec: { selector } });
  const none = { labels: {}, finalizers: [], isTerminating: false, deletedAt: undefined, owner: undefined };
  assert.partialDeepStrictEqual(record, { ...none, isControlled: false });
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap" }];
  const owned = readSource(deployments, { metadata: { ...metadata, ownerReferences }, spec: { selector } });
  assert.partialDeepStrictEqual(owned, { owner: ownerReferences[0], isControlled: false });
});

test("what is not a usable object is nothing, and nothing makes it throw", () => {
  const broken = [
    null,
    [],
    "x",
    {},
    { metadata },
    { metadata, spec: {} },
    { metadata: { ...metadata, resourceVersion: "x" }, spec: { selector } },
    { metadata: { ...metadata, uid: 5 }, spec: { selector } },
  ];
  for (const raw of broken) assert.equal(readSource(deployments, raw), undefined, JSON.stringify(raw));
});

test("absent replicas mean one, and there are never fewer than none", () => {
  assert.deepEqual([replicasOf(undefined), replicasOf(0), replicasOf(7), replicasOf(-1)], [1, 0, 7, 0]);
});

test("a kind is given the status too, which may be anything", () => {
  const given: unknown[] = [];
  const kind = {
    ...deployments,
    readSpec: (raw: unknown, status?: unknown) => (given.push(status), deployments.readSpec(raw)),
  };
  for (const status of [undefined, null, 5, { selector: "a=b" }])
    assert.ok(readSource(kind, { metadata, spec: { selector }, status }) !== undefined);
  assert.deepEqual(given, [undefined, null, 5, { selector: "a=b" }]);
});
