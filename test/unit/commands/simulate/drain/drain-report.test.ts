import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../../src/api/v1alpha1/names.ts";
import { planDrain } from "../../../../../src/commands/simulate/drain-plan.ts";
import { drainReport } from "../../../../../src/commands/simulate/drain/drain-report.ts";
import { guardOptions, pod, podsNamed, protector } from "../support.ts";

const protectors = [
  protector("web", { min: 2, cells: { a: 3 } }),
  protector("api", { min: 1, cells: { a: 1 } }),
  protector("tried", { min: 1, cells: { a: 1 }, metadata: { annotations: { [annotations.mode]: "shadow" } } }),
];

function report() {
  const pods = [
    ...podsNamed("web", 2),
    ...podsNamed("api", 1, { app: "api" }),
    ...podsNamed("tried", 1, { app: "tried" }),
    ...podsNamed("free", 1, { app: "free", controllerKind: undefined }),
    pod("agent", { controllerKind: "DaemonSet" }),
  ];
  const nodes = [{ name: "node-1", pods }];
  const plan = planDrain({ ...guardOptions(...protectors), cellID: "a", nodes, budgets: [] });
  return drainReport(plan, { nodes: ["node-1"], cell: "a", protectors });
}

test("there is a row for each PodProtector, what is stuck first, and one for pods without any", () => {
  const rows = report().rows.map(({ id, pods, freeNow, atOnce, later, never, rounds }) => {
    return [id, pods, freeNow, atOnce, later, never, rounds];
  });
  assert.deepEqual(rows, [
    ["core/shop/api", 1, 0, 0, 0, 1, 0],
    ["core/shop/tried", 1, 0, 1, 0, 0, 1],
    ["core/shop/web", 2, 1, 1, 1, 0, 2],
    [undefined, 1, undefined, 1, 0, 0, 1],
  ]);
});

test("totals, obstacles, what is only in shadow, and the flags that kubectl asks for", () => {
  const { totals, obstacles, shadowed, flags, isEndless, stuckAt } = report();
  assert.deepEqual(totals, { skipped: 1, "at-once": 3, later: 1, never: 1 });
  assert.deepEqual(
    obstacles.map(({ by, pods }) => [by, ...pods]),
    [["PodProtector core/shop/api", "shop/api-1"]],
  );
  assert.deepEqual([...shadowed], [["core/shop/tried", 1]]);
  assert.deepEqual(flags, ["--force", "--ignore-daemonsets"]);
  assert.deepEqual([isEndless, stuckAt], [true, "node-1"]);
});
