import assert from "node:assert/strict";
import { test } from "node:test";
import { type Budget, readBudget } from "../../../../src/commands/simulate/budgets.ts";
import { type DrainPlan, freeOf, planDrain } from "../../../../src/commands/simulate/drain-plan.ts";
import { Guard } from "../../../../src/commands/simulate/guard.ts";
import { type Guarding } from "../../../../src/commands/simulate/guard.ts";
import { type SimulatedPod } from "../../../../src/commands/simulate/simulated-pods.ts";
import { guardOptions, pod, podsNamed, protector } from "./support.ts";

interface Case {
  readonly protectors: readonly Guarding[];
  readonly pods: readonly SimulatedPod[];
  readonly others?: readonly SimulatedPod[];
  readonly budgets?: readonly Budget[];
}

function plan({ protectors, pods, others, budgets = [] }: Case): DrainPlan {
  const nodes = [{ name: "node-1", pods }, ...(others === undefined ? [] : [{ name: "node-2", pods: others }])];
  return planDrain({ ...guardOptions(...protectors), cellID: "a", nodes, budgets });
}

function fatesOf({ pods }: DrainPlan): readonly string[] {
  return pods.map(({ pod: { record }, fate }) => {
    const more = fate.kind === "later" ? ` ${fate.round}` : "";
    return `${record.name} ${fate.kind}${more}`;
  });
}

test("what is free goes at once in the order of names, and the others when replacements are available", () => {
  const { pods, ...made } = plan({
    protectors: [protector("web", { min: 3, cells: { a: 3, b: 2 } })],
    pods: podsNamed("web", 5).toReversed(),
  });
  assert.deepEqual(fatesOf({ pods, ...made }), [
    "web-1 at-once",
    "web-2 at-once",
    "web-3 later 2",
    "web-4 later 2",
    "web-5 later 3",
  ]);
  assert.equal(made.stuckAt, undefined);
  assert.deepEqual([...made.freeNow], [["core/shop/web", 2]]);
});

test("pods of a workload all of whose pods must stay never go", () => {
  const made = plan({ protectors: [protector("web", { min: 3, cells: { a: 3 } })], pods: podsNamed("web", 2) });
  assert.deepEqual(fatesOf(made), ["web-1 never", "web-2 never"]);
  assert.equal(made.stuckAt, "node-1");
});

test("a pod elsewhere that is not available stays so, and one on the node is replaced by an available one", () => {
  const protectors = [protector("web", { min: 2, cells: { a: 2 }, totals: { a: 3 } })];
  const ready = podsNamed("web", 2);
  assert.deepEqual(fatesOf(plan({ protectors, pods: ready })), ["web-1 never", "web-2 never"]);
  const unready = pod("web-3", { isReady: false });
  assert.deepEqual(fatesOf(plan({ protectors, pods: [...ready, unready] })), [
    "web-1 later 2",
    "web-2 later 3",
    "web-3 at-once",
  ]);
});

test("pods without a controller are not replaced, so only what is free of them goes", () => {
  const made = plan({
    protectors: [protector("web", { min: 1, cells: { a: 3 } })],
    pods: podsNamed("web", 3, { controllerKind: undefined }),
  });
  assert.deepEqual(fatesOf(made), ["web-1 at-once", "web-2 at-once", "web-3 never"]);
});

test("what is promised to others settles before the second round, even when nothing went in the first", () => {
  const made = plan({
    protectors: [protector("web", { min: 2, cells: { a: 3 }, promised: { a: ["uid-elsewhere"] } })],
    pods: podsNamed("web", 1),
  });
  assert.deepEqual(fatesOf(made), ["web-1 later 2"]);
});

test("pods that kubectl skips keep their place in the list", () => {
  const pods = [pod("a-daemon", { controllerKind: "DaemonSet" }), pod("b", { app: "other" })];
  assert.deepEqual(fatesOf(plan({ protectors: [], pods })), ["a-daemon skipped", "b at-once"]);
});

test("a PodDisruptionBudget is asked after the webhook, whose promise it leaves standing", () => {
  const budget = readBudget({
    metadata: { namespace: "shop", name: "first", generation: 1 },
    spec: { selector: { matchLabels: { first: "yes" } } },
    status: { observedGeneration: 1, disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
  });
  assert(budget !== undefined);
  const kept = pod("web-1", { metadata: { labels: { app: "web", first: "yes" } } });
  const made = plan({
    protectors: [protector("web", { min: 2, cells: { a: 3 } })],
    pods: [kept, pod("web-2")],
    budgets: [budget],
  });
  assert.deepEqual(fatesOf(made), ["web-1 never", "web-2 never"]);
  const [first, second] = made.pods.map(({ fate }) => (fate.kind === "never" ? fate.obstruction.by : undefined));
  assert.deepEqual([first, second], ["budget", "podprotectors"]);
});

test("the second node is drained after the first, whose pods are replaced by then: nothing of it goes at once", () => {
  const made = plan({
    protectors: [protector("web", { min: 2, cells: { a: 3 } })],
    pods: podsNamed("web", 1),
    others: [pod("web-2"), pod("web-3")],
  });
  assert.deepEqual(fatesOf(made), ["web-1 at-once", "web-2 later 2", "web-3 later 3"]);
  assert.deepEqual([...made.freeNow.values()], [1]);
});

test("a drain is stuck at the first node that is never empty", () => {
  const protectors = [protector("web", { min: 3, cells: { a: 3 } })];
  assert.equal(plan({ protectors, pods: [], others: podsNamed("web", 1) }).stuckAt, "node-2");
  assert.equal(plan({ protectors, pods: podsNamed("web", 1), others: podsNamed("web", 1) }).stuckAt, "node-1");
});

test("what is free is never below 0, and not known of an invalid PodProtector", () => {
  const low = protector("low", { min: 5, cells: { a: 3 } });
  const broken = protector("broken", { spec: { minAvailable: "x" } });
  const guard = new Guard(guardOptions(low, broken));
  assert.equal(freeOf(guard, low.id), 0);
  assert.equal(freeOf(guard, broken.id), undefined);
});
