/** The fields and annotations of PodUnavailableBudgets, as OpenKruise documents them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { budgetSpec } from "../../../../src/sources/budgets/budget.ts";
import { type FloorRule } from "../../../../src/sources/floor.ts";
import { podUnavailableBudgets } from "../../../../src/sources/budgets/pod-unavailable-budget.ts";

const selector = { matchLabels: { app: "web" } };
const targetRef = { apiVersion: "apps.kruise.io/v1alpha1", kind: "CloneSet", name: "web" };
const rule: FloorRule = { percentRounding: "at-least-one", singleReplica: "protected" };
const operationsAnnotation = "kruise.io/pub-protect-operations";
const totalAnnotation = "pub.kruise.io/protect-total-replicas";

const read = (spec: object, annotations?: unknown) =>
  podUnavailableBudgets.readBudget({ selector, ...spec }, annotations);

/** "drainable 8/10": kind and floor of that many replicas. */
function stateOf(spec: object, replicas: number, annotations: object = {}): string {
  const budget = read(spec, annotations);
  if (budget === undefined) return "invalid";
  const { statedReplicas = replicas } = budget;
  const floor = budgetSpec(budget, { replicas: statedReplicas, hasBarePods: false }).floorBy(rule);
  return `${floor.kind} ${floor.minAvailable}/${floor.replicas}`;
}

const cases: readonly (readonly [spec: object, replicas: number, expected: string])[] = [
  // The example of OpenKruise's manual: of five replicas 60 % may be unavailable, or 40 % must be available.
  [{ maxUnavailable: "60%" }, 5, "drainable 2/5"],
  [{ minAvailable: "40%" }, 5, "drainable 2/5"],
  // Percentages round up, of what may go as of what must stay.
  [{ maxUnavailable: "30%" }, 10, "drainable 7/10"],
  [{ maxUnavailable: "25%" }, 10, "drainable 7/10"],
  [{ maxUnavailable: "1%" }, 10, "drainable 9/10"],
  [{ maxUnavailable: "30%" }, 1, "unprotected 0/1"],
  [{ maxUnavailable: "0%" }, 10, "undrainable 10/10"],
  [{ maxUnavailable: "100%" }, 10, "unprotected 0/10"],
  [{ minAvailable: "25%" }, 10, "drainable 3/10"],
  [{ minAvailable: "80%" }, 6, "drainable 5/6"],
  [{ minAvailable: "100%" }, 10, "undrainable 10/10"],
  // Numbers are taken as they are, up to the replicas.
  [{ maxUnavailable: 3 }, 10, "drainable 7/10"],
  [{ maxUnavailable: 0 }, 10, "undrainable 10/10"],
  [{ maxUnavailable: 12 }, 10, "unprotected 0/10"],
  [{ minAvailable: 3 }, 10, "drainable 3/10"],
  [{ minAvailable: 0 }, 10, "unprotected 0/10"],
  [{ minAvailable: 12 }, 10, "undrainable 10/10"],
  [{ minAvailable: 3 }, 0, "drainable 0/0"],
  // Where both are set maxUnavailable counts. With neither OpenKruise stores none, and its controller would ask for 0.
  [{ minAvailable: 1, maxUnavailable: 3 }, 10, "drainable 7/10"],
  [{ minAvailable: 9, maxUnavailable: null }, 10, "drainable 9/10"],
  [{}, 10, "invalid"],
  // What the webhook of OpenKruise refuses.
  [{ maxUnavailable: -1 }, 10, "invalid"],
  [{ maxUnavailable: "101%" }, 10, "invalid"],
  [{ minAvailable: "half" }, 10, "invalid"],
  [{ minAvailable: 2, selector: {} }, 10, "invalid"],
  [{ minAvailable: 2, selector: null }, 10, "invalid"],
  [{ minAvailable: 2, selector: { matchLabels: { app: 1 } } }, 10, "invalid"],
  // Its limits count groups of pods.
  [{ minAvailable: 2, podGroupPolicy: { groupLabelKey: "group" } }, 10, "invalid"],
];

for (const [spec, replicas, expected] of cases)
  test(`${JSON.stringify(spec)} of ${replicas} replicas is ${expected}`, () => {
    assert.equal(stateOf(spec, replicas), expected);
  });

test("a targetRef takes precedence over a selector, and a broken one makes the budget invalid", () => {
  const named = { limit: { field: "maxUnavailable", value: 1 }, selector: undefined, target: targetRef };
  assert.deepEqual(read({ maxUnavailable: 1, targetRef }), named);
  assert.deepEqual(read({ maxUnavailable: 1, targetRef, selector: null }), named);
  for (const lacking of ["apiVersion", "kind", "name"])
    for (const value of [undefined, "", 7])
      assert.equal(read({ maxUnavailable: 1, targetRef: { ...targetRef, [lacking]: value } }), undefined);
  assert.equal(read({ maxUnavailable: 1, targetRef: "web" }), undefined);
});

const guarding: readonly (readonly [value: unknown, isGuarded: boolean])[] = [
  [undefined, true],
  ["", true],
  ["DELETE", true],
  ["EVICT", true],
  ["DELETE,EVICT,UPDATE", true],
  ["UPDATE,DELETE", true],
  ["UPDATE", false],
  ["UPDATE,RESIZE", false],
  // OpenKruise refuses these. Its webhook would guard nothing by them.
  ["delete", true],
  ["UPDATE, RESIZE", true],
  ["UPDATE,", true],
  [7, true],
];

for (const [value, isGuarded] of guarding)
  test(`the operations ${JSON.stringify(value)} ${isGuarded ? "guard deletions" : "leave deletions alone"}`, () => {
    const state = stateOf({ maxUnavailable: 2 }, 10, { [operationsAnnotation]: value });
    assert.equal(state, isGuarded ? "drainable 8/10" : "unprotected 0/10");
  });

const totals: readonly (readonly [value: unknown, expected: string])[] = [
  ["20", "drainable 14/20"],
  ["+20", "drainable 14/20"],
  ["5", "drainable 3/5"],
  ["0", "drainable 0/0"],
  // OpenKruise refuses most of these, and its controller would take them for 0.
  ["", "drainable 7/10"],
  ["-5", "drainable 7/10"],
  ["many", "drainable 7/10"],
  ["1e3", "drainable 7/10"],
  ["2147483648", "drainable 7/10"],
  [20, "drainable 7/10"],
];

for (const [value, expected] of totals)
  test(`with ${JSON.stringify(value)} total replicas 30 % of ten leave ${expected}`, () => {
    assert.equal(stateOf({ maxUnavailable: "30%" }, 10, { [totalAnnotation]: value }), expected);
  });

test("whatever its metadata and spec are, reading one never throws", () => {
  for (const spec of [undefined, null, 3, "x", [], { selector: 3 }, { targetRef: [] }])
    for (const annotations of [undefined, null, 3, [], { [operationsAnnotation]: {}, [totalAnnotation]: [] }])
      assert.equal(podUnavailableBudgets.readBudget(spec, annotations), undefined);
});
