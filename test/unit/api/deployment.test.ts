import assert from "node:assert/strict";
import { test } from "node:test";
import { readDeployment } from "../../../src/api/deployment.ts";

const metadata = { name: "web", namespace: "default", uid: "u", resourceVersion: "7" };
const selector = { matchLabels: { app: "web" } };

test("what the generator needs is read, the pod template is not", () => {
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
    spec: {
      replicas: 3,
      minReadySeconds: 5,
      selector: { ...selector, matchExpressions: [{ key: "k", operator: "In", values: ["v"] }] },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "25%", maxSurge: 1 } },
      template: { spec: {} },
    },
  };
  assert.deepEqual(readDeployment(raw), {
    key: "default/web",
    uid: "u",
    resourceVersion: "7",
    labels: { a: "1" },
    finalizers: ["f"],
    isTerminating: true,
    deletedAt: 1_767_225_600_000_000,
    owner: { apiVersion: "argoproj.io/v1alpha1", kind: "Rollout" },
    writers: { replicas: undefined, strategy: undefined, labels: undefined },
    facts: {
      name: "web",
      namespace: "default",
      uid: "u",
      replicas: 3,
      minReadySeconds: 5,
      selector: { matchLabels: { app: "web" }, matchExpressions: [{ key: "k", operator: "In", values: ["v"] }] },
      strategy: "RollingUpdate",
      maxUnavailable: "25%",
      maxSurge: 1,
    },
  });
});

test("absent fields are absent, and an unknown strategy is a rolling update", () => {
  const record = readDeployment({ metadata, spec: { selector, strategy: { type: "Other", rollingUpdate: null } } });
  assert.partialDeepStrictEqual(record, {
    labels: {},
    finalizers: [],
    isTerminating: false,
    deletedAt: undefined,
    owner: undefined,
    facts: { minReadySeconds: 0, strategy: "RollingUpdate" },
  });
  assert.deepEqual([record?.facts.replicas, record?.facts.maxUnavailable], [undefined, undefined]);
  assert.equal(
    readDeployment({ metadata, spec: { selector, strategy: { type: "Recreate" } } })?.facts.strategy,
    "Recreate",
  );
});

test("what is not a usable Deployment is nothing, and nothing makes it throw", () => {
  const broken = [
    null,
    [],
    "x",
    {},
    { metadata, spec: {} },
    { metadata: { ...metadata, resourceVersion: "x" }, spec: { selector } },
    { metadata: { ...metadata, uid: 5 }, spec: { selector } },
    { metadata, spec: { selector: { matchExpressions: [{ key: "k", operator: "Near" }] } } },
    { metadata, spec: { selector, replicas: "3" } },
  ];
  for (const raw of broken) assert.equal(readDeployment(raw), undefined, JSON.stringify(raw));
});
