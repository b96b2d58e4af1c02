import assert from "node:assert/strict";
import { test } from "node:test";
import { readTarget, targetWords } from "../../../../src/commands/explain/target.ts";
import { Problem } from "../../../../src/config/reading/problem.ts";

test("a target is a pod, a PodProtector or a workload, in Kubernetes' short forms too", () => {
  const at = { namespace: "shop", name: "web" };
  const cases: readonly (readonly [string, string, object])[] = [
    ["po", "web", { kind: "pod", ...at }],
    ["pods", "other/web", { kind: "pod", namespace: "other", name: "web" }],
    ["PodProtector", "web", { kind: "protector", ...at }],
    ["ppr", "web", { kind: "protector", ...at }],
    ["Deployments", "web", { kind: "workload", sourceKind: "Deployment", ...at }],
    ["sts", "web", { kind: "workload", sourceKind: "StatefulSet", ...at }],
    ["pdb", "web", { kind: "workload", sourceKind: "PodDisruptionBudget", ...at }],
  ];
  for (const [kind, name, expected] of cases) assert.deepEqual(readTarget(kind, name, "shop"), expected, kind);
  assert.deepEqual(readTarget("deploy/web", undefined, "shop"), { kind: "workload", sourceKind: "Deployment", ...at });
  assert.deepEqual(targetWords.slice(0, 3), ["pod", "protector", "deployment"]);
});

test("an unknown kind and what cannot be a name are problems", () => {
  for (const [kind, name] of [
    ["node", "x"],
    ["pod", "Web"],
    ["pod", "a/b/c"],
    ["pod", "/web"],
    ["pod", ""],
    ["pod", "../x"],
  ] as const) {
    assert(readTarget(kind, name, "shop") instanceof Problem, `${kind} ${name}`);
  }
});
