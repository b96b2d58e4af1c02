import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonObject, type KubeObject } from "../../../double/engine/object.ts";
import { type Choice, Workloads } from "./workloads.ts";

const byPods: readonly Choice[] = [{ by: "pods", selector: { matchLabels: { app: "web" } } }];
const byLabels: readonly Choice[] = [
  { by: "labels", prefix: "deployment-", selector: { matchLabels: { tier: "front" } } },
];
const byName: readonly Choice[] = [{ by: "name", key: "default/deployment-web" }];

function workload(kind: string, replicas: number, metadata: JsonObject = {}): KubeObject {
  const fixed = { name: "web", namespace: "default", uid: "u", resourceVersion: "1", creationTimestamp: "" };
  const template = { metadata: { labels: { app: "web" } } };
  const spec = { replicas, template };
  return { apiVersion: "apps/v1", kind, metadata: { ...fixed, labels: { tier: "front" }, ...metadata }, spec };
}

function database(members: number, status: JsonObject): KubeObject {
  const { metadata } = workload("Database", members);
  return { apiVersion: "example.com/v1", kind: "Database", metadata, spec: { members }, status };
}

function create() {
  const workloads = new Workloads();
  const change = (type: "MODIFIED" | "DELETED", object: KubeObject, nowMs: number, isSeen = true): void => {
    workloads.changed({ type, object, previous: object, key: "", revision: 0 }, nowMs, isSeen);
  };
  const sums = (choices: readonly Choice[], fromMs: number): number[] =>
    [...workloads.possible("default", choices, fromMs)].sort((a, b) => a - b);
  return { workloads, change, sums, count: (choices: readonly Choice[]) => workloads.count("default", choices) };
}

test("all workloads with such pods count, of whatever kind", () => {
  const { change, count } = create();
  assert.equal(count(byPods), undefined);
  change("MODIFIED", workload("Deployment", 4), 0);
  change("MODIFIED", workload("StatefulSet", 3), 0);
  assert.deepEqual([count(byPods), count(byLabels), count(byName)], [7, 4, 4]);
});

test("what is being deleted counts no more, but by its name", () => {
  const { change, count } = create();
  change("MODIFIED", workload("Deployment", 4, { deletionTimestamp: "2026-01-01T00:00:00Z" }), 0);
  assert.deepEqual([count(byPods), count(byLabels), count(byName)], [0, undefined, 4]);
});

test("nobody knows what is wanted while one has vanished, or was deleted unseen", () => {
  const deleted = { deletionTimestamp: "2026-01-01T00:00:00Z" };
  for (const [metadata, isSeen, left] of [
    [{}, true, undefined],
    [deleted, false, undefined],
    [deleted, true, 3],
  ] as const) {
    const { change, count } = create();
    change("MODIFIED", workload("StatefulSet", 3), 0);
    change("MODIFIED", workload("Deployment", 4), 0);
    change("DELETED", workload("Deployment", 4, metadata), 1, isSeen);
    assert.equal(count(byPods), left);
  }
});

test("somebody may know each workload as it was at another time", () => {
  const { change, sums } = create();
  change("MODIFIED", workload("Deployment", 4), 0);
  change("MODIFIED", workload("StatefulSet", 30), 0);
  change("MODIFIED", workload("Deployment", 5), 10);
  change("MODIFIED", workload("StatefulSet", 20), 20);
  assert.deepEqual(sums(byPods, 30), [25]);
  assert.deepEqual(sums(byPods, 15), [25, 35]);
  assert.deepEqual(sums(byPods, 5), [24, 25, 34, 35]);
});

test("somebody may know by its former pods a workload that no longer says what it selects", () => {
  const { change, sums, count } = create();
  change("MODIFIED", workload("StatefulSet", 30), 0);
  change("MODIFIED", database(4, { selector: "app=web" }), 0);
  change("MODIFIED", database(5, {}), 10);
  assert.equal(count(byPods), undefined);
  assert.deepEqual(sums(byPods, 20), [30, 35]);
});
