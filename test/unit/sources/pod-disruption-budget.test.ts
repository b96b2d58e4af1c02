/** The arithmetic of PodDisruptionBudgets, as the disruption controller documents it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { finalizer } from "../../../src/api/v1alpha1/names.ts";
import { compileSelector, matches } from "../../../src/label-index/index.ts";
import {
  budgetSpec,
  type Expected,
  isByNumber,
  podDisruptionBudgets,
  readBudget,
  readBudgetHead,
} from "../../../src/sources/pod-disruption-budget.ts";
import { type FloorRule } from "../../../src/sources/floor.ts";

const selector = { matchLabels: { app: "web" } };
const rule: FloorRule = { percentRounding: "at-least-one", singleReplica: "protected" };

/** "drainable 8/10": kind and floor of the replicas. */
function stateOf(spec: object, expected: Partial<Expected>): string {
  const budget = readBudget({ selector, ...spec });
  assert.ok(budget !== undefined);
  const floor = budgetSpec(budget, { replicas: 0, hasBarePods: false, ...expected }).floorBy(rule);
  return `${floor.kind} ${floor.minAvailable}/${floor.replicas}`;
}

const cases: readonly (readonly [spec: object, replicas: number, expected: string])[] = [
  // A number of minAvailable is taken as it is, up to the replicas.
  [{ minAvailable: 3 }, 10, "drainable 3/10"],
  [{ minAvailable: 0 }, 10, "unprotected 0/10"],
  [{ minAvailable: 10 }, 10, "undrainable 10/10"],
  [{ minAvailable: 12 }, 10, "undrainable 10/10"],
  [{ minAvailable: 1 }, 0, "drainable 0/0"],
  // A percentage of minAvailable rounds up: 7 pods with 50 % keep 4.
  [{ minAvailable: "50%" }, 7, "drainable 4/7"],
  [{ minAvailable: "1%" }, 10, "drainable 1/10"],
  [{ minAvailable: "0%" }, 10, "unprotected 0/10"],
  [{ minAvailable: "100%" }, 10, "undrainable 10/10"],
  [{ minAvailable: "29%" }, 100, "drainable 29/100"],
  // maxUnavailable is taken off. Its percentage rounds up too: of 7 pods with 50 % four may go.
  [{ maxUnavailable: 3 }, 10, "drainable 7/10"],
  [{ maxUnavailable: "50%" }, 7, "drainable 3/7"],
  [{ maxUnavailable: "1%" }, 10, "drainable 9/10"],
  [{ maxUnavailable: "30%" }, 1, "unprotected 0/1"],
  [{ maxUnavailable: 0 }, 10, "undrainable 10/10"],
  [{ maxUnavailable: "0%" }, 10, "undrainable 10/10"],
  [{ maxUnavailable: 12 }, 10, "unprotected 0/10"],
  [{ maxUnavailable: "100%" }, 10, "unprotected 0/10"],
  // The controller looks at maxUnavailable first, and lets nothing go when neither is there.
  [{ minAvailable: 1, maxUnavailable: 3 }, 10, "drainable 7/10"],
  [{}, 10, "undrainable 10/10"],
  [{ minAvailable: null, maxUnavailable: null }, 10, "undrainable 10/10"],
  [{ maxUnavailable: 2, unhealthyPodEvictionPolicy: "AlwaysAllow" }, 10, "drainable 8/10"],
];

for (const [spec, replicas, expected] of cases)
  test(`${JSON.stringify(spec)} of ${replicas} replicas is ${expected}`, () => {
    assert.equal(stateOf(spec, { replicas }), expected);
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

test("what an API server refuses is invalid, and never a floor", () => {
  const wrong = [{ minAvailable: -1 }, { maxUnavailable: "x" }, { minAvailable: "101%" }, { minAvailable: 1.5 }];
  for (const spec of [...wrong, { minAvailable: true }, { selector: { matchLabels: { a: 1 } } }, { selector: "a" }, 3])
    assert.equal(readBudget(spec), undefined, JSON.stringify(spec));
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
