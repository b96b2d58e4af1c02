/** The arithmetic of PodDisruptionBudgets, as the disruption controller documents it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { budgetSpec } from "../../../../src/sources/budgets/budget.ts";
import { podDisruptionBudgets } from "../../../../src/sources/budgets/pod-disruption-budget.ts";
import { type FloorRule } from "../../../../src/sources/floor.ts";

const selector = { matchLabels: { app: "web" } };
const readBudget = (spec: unknown) => podDisruptionBudgets.readBudget(spec, undefined);
const rule: FloorRule = { percentRounding: "at-least-one", singleReplica: "protected" };

/** "drainable 8/10": kind and floor of the replicas. */
function stateOf(spec: object, replicas: number): string {
  const budget = readBudget({ selector, ...spec });
  assert.ok(budget !== undefined);
  const floor = budgetSpec(budget, { replicas, hasBarePods: false }).floorBy(rule);
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
    assert.equal(stateOf(spec, replicas), expected);
  });

test("what an API server refuses is invalid, and never a floor", () => {
  const wrong = [{ minAvailable: -1 }, { maxUnavailable: "x" }, { minAvailable: "101%" }, { minAvailable: 1.5 }];
  for (const spec of [...wrong, { minAvailable: true }, { selector: { matchLabels: { a: 1 } } }, { selector: "a" }, 3])
    assert.equal(readBudget(spec), undefined, JSON.stringify(spec));
});
