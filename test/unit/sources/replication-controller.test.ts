import assert from "node:assert/strict";
import { test } from "node:test";
import { replicaSets } from "../../../src/sources/replica-set.ts";
import { replicationControllers } from "../../../src/sources/replication-controller.ts";

const rule = { percentRounding: "at-least-one", singleReplica: "drainable" } as const;

test("the selector is a map of labels, also with labels that are called like parts of the language", () => {
  const selector = { app: "web", constructor: "x" };
  const read = replicationControllers.readSpec({ replicas: 3, minReadySeconds: 5, selector, template: {} });
  const { floorBy: _, ...facts } = read!;
  assert.deepEqual(facts, { replicas: 3, minReadySeconds: 5, selector: { matchLabels: selector } });
});

test("the floor is that of a ReplicaSet, for all small numbers of replicas", () => {
  for (let replicas = 0; replicas <= 40; replicas++) {
    const floor = replicationControllers.readSpec({ replicas, selector: { app: "web" } })!.floorBy(rule);
    const ofReplicaSet = replicaSets.readSpec({ replicas, selector: { matchLabels: { app: "web" } } })!.floorBy(rule);
    assert.deepEqual(floor, ofReplicaSet);
  }
});

test("what is not a usable spec is nothing, and nothing makes it throw", () => {
  for (const raw of [null, "x", {}, { selector: { a: 5 } }, { selector: [] }, { selector: {}, replicas: "3" }])
    assert.equal(replicationControllers.readSpec(raw), undefined, JSON.stringify(raw));
});
