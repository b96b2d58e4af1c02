import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeObject } from "../../../double/engine/object.ts";
import { selectorText } from "./selectors.ts";
import { type SourceRules } from "./shares.ts";
import { wantedOf } from "./wanted.ts";

const usual: SourceRules = { percentRounding: "at-least-one", singleReplica: "drainable", protectsNonZero: true };

function deployment(spec: Record<string, unknown>, metadata: Record<string, unknown> = {}): KubeObject {
  const fixed = { name: "web", namespace: "default", uid: "u", resourceVersion: "1", creationTimestamp: "" };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata: { ...fixed, ...metadata }, spec };
}

function floor(
  replicas: unknown,
  maxUnavailable: unknown,
  maxSurge: unknown,
  rules: Partial<SourceRules> = {},
): unknown {
  const strategy = { type: "RollingUpdate", rollingUpdate: { maxUnavailable, maxSurge } };
  return wantedOf(deployment({ replicas, strategy }), { ...usual, ...rules })?.minAvailable;
}

test("the default of a quarter leaves what the table of the documentation says, by each rounding", () => {
  const table = [
    [1, 0, 0, 1],
    [2, 1, 1, 2],
    [3, 2, 2, 3],
    [5, 4, 3, 4],
    [8, 6, 6, 6],
    [9, 7, 6, 7],
    [13, 10, 9, 10],
    [30, 23, 22, 23],
    [1000, 750, 750, 750],
  ] as const;
  for (const [replicas, atLeastOne, up, down] of table) {
    assert.equal(floor(replicas, "25%", "25%"), atLeastOne);
    assert.equal(floor(replicas, "25%", "25%", { percentRounding: "up" }), up);
    assert.equal(floor(replicas, "25%", "25%", { percentRounding: "down" }), down);
  }
});

test("numbers are taken at their word, and an update that is stuck takes one pod", () => {
  assert.equal(floor(4, 0, 1), 4);
  assert.equal(floor(4, "0%", "25%"), 4);
  assert.equal(floor(4, 0, 0), 3);
  assert.equal(floor(4, "0%", "0%"), 3);
  assert.equal(floor(4, 9, 0), 0);
  assert.equal(floor(100, "29%", 1), 71);
  assert.equal(floor(4, "some", "none"), 3);
  assert.equal(floor(undefined, 0, 1), 1);
  assert.equal(floor(-3, 0, 1), 0);
});

test("the only replica is protected by the flag, but not from 100 %", () => {
  assert.equal(floor(1, "25%", 1, { singleReplica: "protected" }), 1);
  assert.equal(floor(1, "100%", 1, { singleReplica: "protected" }), 0);
  assert.equal(floor(2, "25%", 1, { singleReplica: "protected" }), 1);
});

test("Recreate leaves nothing", () => {
  assert.equal(wantedOf(deployment({ replicas: 4, strategy: { type: "Recreate" } }), usual)?.minAvailable, 0);
});

function ofKind(kind: string, spec: Record<string, unknown>, rules: Partial<SourceRules> = {}): unknown {
  return wantedOf({ ...deployment(spec), kind }, { ...usual, ...rules })?.minAvailable;
}

test("a StatefulSet lends one pod, or what it says, and an update takes one at least", () => {
  const floorOf = (replicas: number, maxUnavailable: unknown, type = "RollingUpdate"): unknown =>
    ofKind("StatefulSet", { replicas, updateStrategy: { type, rollingUpdate: { maxUnavailable } } });
  assert.equal(floorOf(8, undefined), 7);
  assert.equal(floorOf(8, 3), 5);
  assert.equal(floorOf(8, "30%"), 6);
  assert.equal(floorOf(8, 0), 7);
  assert.equal(floorOf(8, 0, "OnDelete"), 8);
  assert.equal(floorOf(8, undefined, "OnDelete"), 7);
  assert.equal(floorOf(3, 9), 0);
});

test("the only replica of a StatefulSet is protected with OnDelete alone", () => {
  const rules = { singleReplica: "protected" };
  assert.equal(ofKind("StatefulSet", { replicas: 1, updateStrategy: { type: "OnDelete" } }, rules), 1);
  assert.equal(ofKind("StatefulSet", { replicas: 1 }, rules), 0);
  assert.equal(ofKind("StatefulSet", { replicas: 1, updateStrategy: { type: "OnDelete" } }), 0);
});

test("ReplicaSets and ReplicationControllers lend a quarter, and these select by labels alone", () => {
  for (const kind of ["ReplicaSet", "ReplicationController"]) {
    assert.equal(ofKind(kind, { replicas: 10 }), 8);
    assert.equal(ofKind(kind, { replicas: 10 }, { percentRounding: "up" }), 7);
    assert.equal(ofKind(kind, { replicas: 1 }, { singleReplica: "protected" }), 1);
  }
  const selector = { app: "web" };
  const wanted = wantedOf({ ...deployment({ replicas: 1, selector }), kind: "ReplicationController" }, usual);
  assert.equal(wanted?.selector, selectorText({ matchLabels: selector }));
});

test("of terminating sources only Deployments are kept until zero", () => {
  const metadata = { deletionTimestamp: "2026-01-01T00:00:00Z" };
  const statefulSet = { ...deployment({ replicas: 4 }, metadata), kind: "StatefulSet" };
  assert.equal(wantedOf(statefulSet, usual), undefined);
});

test("who is deselected, or deleted without replicas, asks for nothing", () => {
  const deleted = { deletionTimestamp: "2026-01-01T00:00:00Z" };
  assert.equal(wantedOf(deployment({ replicas: 4 }, { labels: { unprotected: "yes" } }), usual), undefined);
  assert.equal(wantedOf(deployment({ replicas: 0 }, deleted), usual), undefined);
  assert.notEqual(wantedOf(deployment({ replicas: 4 }, deleted), usual), undefined);
  assert.equal(wantedOf(deployment({ replicas: 4 }, deleted), { ...usual, protectsNonZero: false }), undefined);
});

test("selectors in another order are the same, and others are not", () => {
  const one = { matchLabels: { a: "1", b: "2" }, matchExpressions: [{ key: "c", operator: "In", values: ["y", "x"] }] };
  const other = {
    matchLabels: { b: "2", a: "1" },
    matchExpressions: [{ key: "c", operator: "In", values: ["x", "y"] }],
  };
  assert.equal(selectorText(one), selectorText(other));
  assert.notEqual(selectorText(one), selectorText({ matchLabels: { a: "1" } }));
});
