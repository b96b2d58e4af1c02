/** What all kinds of budgets have in common, with PodDisruptionBudgets as the example. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { finalizer } from "../../../../src/api/v1alpha1/names.ts";
import { compileSelector, matches } from "../../../../src/label-index/index.ts";
import {
  type Budget,
  budgetSpec,
  type Expected,
  isByNumber,
  readBudgetHead,
} from "../../../../src/sources/budgets/budget.ts";
import { type FloorRule } from "../../../../src/sources/floor.ts";
import { podDisruptionBudgets } from "../../../../src/sources/budgets/pod-disruption-budget.ts";

const selector = { matchLabels: { app: "web" } };
const rule: FloorRule = { percentRounding: "at-least-one", singleReplica: "protected" };
const readBudget = (spec: unknown) => podDisruptionBudgets.readBudget(spec, undefined);

/** "drainable 8/10": kind and floor of the replicas. */
function stateOf(spec: object, expected: Partial<Expected>, changes: Partial<Budget> = {}): string {
  const budget = readBudget({ selector, ...spec });
  assert.ok(budget !== undefined);
  const floor = budgetSpec({ ...budget, ...changes }, { replicas: 0, hasBarePods: false, ...expected }).floorBy(rule);
  return `${floor.kind} ${floor.minAvailable}/${floor.replicas}`;
}

test("a budget that guards no deletions has no floor", () => {
  assert.equal(stateOf({ minAvailable: 5 }, { replicas: 8 }, { isUnguarded: true }), "unprotected 0/8");
  assert.equal(stateOf({ minAvailable: 5 }, { hasBarePods: true }, { isUnguarded: true }), "drainable 0/0");
});

test("where pods have no controller, only a number of minAvailable counts them", () => {
  assert.equal(stateOf({ minAvailable: 5 }, { replicas: 3, hasBarePods: true }), "drainable 5/5");
  assert.equal(stateOf({ minAvailable: 5 }, { replicas: 0, hasBarePods: true }), "drainable 5/5");
  assert.equal(stateOf({ minAvailable: "50%" }, { replicas: 4, hasBarePods: true }), "drainable 2/4");
  assert.equal(stateOf({ maxUnavailable: 1 }, { replicas: 4, hasBarePods: true }), "drainable 3/4");
});

test("only a number of minAvailable needs no replicas", () => {
  const isIt = (spec: object) => isByNumber(readBudget(spec)!);
  assert.deepEqual(
    [
      { minAvailable: 1 },
      { minAvailable: "1%" },
      { maxUnavailable: 1 },
      { maxUnavailable: 1, minAvailable: 1 },
      {},
    ].map(isIt),
    [true, false, false, false, false],
  );
});

test("no selector selects no pods, and an empty one all of the namespace", () => {
  const matched = (spec: object) => {
    const found = budgetSpec(readBudget({ minAvailable: 2, ...spec })!, { replicas: 4, hasBarePods: true });
    const compiled = compileSelector(found.selector);
    assert.ok(compiled.ok);
    return [matches(compiled.selector, { app: "web" }), found.floorBy(rule).minAvailable];
  };
  assert.deepEqual(matched({}), [false, 0]);
  assert.deepEqual(matched({ selector: null }), [false, 0]);
  assert.deepEqual(matched({ selector: {} }), [true, 2]);
  assert.deepEqual(matched({ selector: { matchLabels: { app: "db" } } }), [false, 2]);
});

test("who wrote either limit has changed the budget, and a finalizer of ours on it means nothing", () => {
  const written = (field: string, manager: string, time: string) => ({
    manager,
    time,
    fieldsV1: { "f:spec": { [`f:${field}`]: {} } },
  });
  const managedFields = [
    written("maxUnavailable", "kubectl", "2026-01-01T00:00:02Z"),
    written("minAvailable", "helm", "2026-01-01T00:00:01Z"),
  ];
  const finalizers = [finalizer, "example.com/other"];
  const metadata = { name: "web", namespace: "shop", uid: "u", resourceVersion: "7", managedFields, finalizers };
  const head = readBudgetHead(podDisruptionBudgets, { metadata, spec: { minAvailable: 1, selector } });
  assert.equal(head?.writers.strategy?.manager, "kubectl");
  assert.deepEqual(head?.finalizers, ["example.com/other"]);
  assert.deepEqual(head?.budget, { limit: { field: "minAvailable", value: 1 }, selector });
  assert.equal(readBudgetHead(podDisruptionBudgets, { metadata, spec: { minAvailable: -1 } })?.budget, undefined);
  assert.equal(readBudgetHead(podDisruptionBudgets, { metadata: {} }), undefined);
  assert.equal(podDisruptionBudgets.readSpec({ minAvailable: 1, selector }), undefined, "the spec alone is not enough");
});
