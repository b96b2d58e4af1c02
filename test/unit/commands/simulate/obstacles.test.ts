import assert from "node:assert/strict";
import { test } from "node:test";
import { finalizer, sourceLabels } from "../../../../src/api/v1alpha1/names.ts";
import { readBudget } from "../../../../src/commands/simulate/budgets.ts";
import { Guard } from "../../../../src/commands/simulate/guard.ts";
import { type Obstacle, obstaclesOf } from "../../../../src/commands/simulate/obstacles.ts";
import { deletionOf } from "../../../../src/commands/simulate/simulated-pods.ts";
import { type JsonObject } from "../../../double/index.ts";
import { guardOptions, pod, protector, type ProtectorFields } from "./support.ts";

interface Asked extends ProtectorFields {
  readonly silent?: string;
  readonly isSecond?: boolean;
}

function obstacleOf({ silent, isSecond = false, ...fields }: Asked): Obstacle {
  const guarding = protector("web", fields);
  const silentForMs = (_core: string, cell: string) => (cell === silent ? 240_000 : undefined);
  const guard = new Guard({ ...guardOptions(guarding), silentForMs });
  if (isSecond) guard.ask(deletionOf(pod("web-0"), "evict", "a"));
  const answer = guard.ask(deletionOf(pod("web-1"), "evict", "a"));
  assert(answer.kind === "refused");
  const refused = { protectors: new Map([[guarding.id, guarding]]), cellID: "a" };
  const [obstacle] = obstaclesOf({ by: "podprotectors", refusals: answer.refusals }, refused);
  assert(obstacle !== undefined);
  assert.equal(obstacle.by, "PodProtector core/shop/web");
  return obstacle;
}

const nothing = { protectors: new Map(), cellID: "a" };
const generated: JsonObject = {
  finalizers: [finalizer],
  labels: { [sourceLabels.kind]: "Deployment", [sourceLabels.group]: "apps", [sourceLabels.name]: "web" },
};

function holds(type: string): JsonObject {
  return { type, status: "True", reason: "x", message: "", lastTransitionTime: "t" };
}

test("where all pods must stay, the owner's fields are what can be changed", () => {
  const fields = "spec.replicas and spec.strategy.rollingUpdate.maxUnavailable of Deployment shop/web";
  assert.deepEqual(obstacleOf({ min: 3, cells: { a: 3 }, metadata: generated, conditions: [holds("Undrainable")] }), {
    kind: "undrainable",
    by: "PodProtector core/shop/web",
    text: "all of its 3 pods must stay",
    cure: `let more be away: ${fields}; or cordon the node, and kubectl -n shop rollout restart deployment/web`,
  });
  const short = obstacleOf({ min: 3, cells: { a: 3 }, metadata: generated });
  assert.equal(short.cure, `find out why there are no more pods, or let more be away: ${fields}`);
  assert.equal(obstacleOf({ min: 1, cells: { a: 1 } }).text, "its only pod must stay");
  const above = obstacleOf({ min: 4, cells: { a: 3 } });
  assert.equal(above.text, "4 must stay, and there are 3 pods");
  assert.equal(above.cure, "add a replica, or lower spec.minAvailable of the PodProtector");
});

test("where pods are not available, it is said how many are missing", () => {
  const { kind, text, cure } = obstacleOf({ min: 3, cells: { a: 3 }, totals: { a: 5 } });
  assert.equal(kind, "too-few-available");
  assert.equal(text, "3 must stay, and 3 of 5 pods are available");
  assert.match(cure, /^find out why a pod is not available, or /);
  assert.match(obstacleOf({ min: 3, cells: { a: 2 }, totals: { a: 5 } }).cure, /^find out why 2 pods are not/);
});

test("a floor whose owner vanished is not to be lowered", () => {
  const { cure } = obstacleOf({ min: 3, cells: { a: 3 }, metadata: generated, conditions: [holds("Dangling")] });
  assert.equal(
    cure,
    "find out why there are no more pods, or create Deployment shop/web again, which vanished without being deleted",
  );
});

test("cells that are silent or not counted are named", () => {
  const own = obstacleOf({ min: 1, cells: { a: 3 }, silent: "a" });
  assert.equal(own.kind, "cell-unknown");
  assert.equal(own.text, "nothing has been heard from the cell of the pod for 4 min");
  assert.match(own.cure, /podseidon cells keep a --for 2h$/);
  const other = obstacleOf({ min: 3, cells: { a: 3, b: 3 }, silent: "b" });
  assert.equal(other.text, "cell b has been silent for 4 min, so its pods do not count");
  assert.equal(obstacleOf({ min: 1, cells: { b: 3 } }).text, "nobody has counted its pods in cell a");
});

test("what stands in the way for a while is told apart", () => {
  assert.equal(obstacleOf({ min: 1, cells: { a: 2 }, isSecond: true }).kind, "promised");
  const admissionHistoryConfig = { maxConcurrentLag: 1 };
  const lag = obstacleOf({ min: 1, cells: { a: 9 }, isSecond: true, spec: { admissionHistoryConfig } });
  assert.equal(lag.cure, "raise maxConcurrentLag");
});

test("an invalid PodProtector says why it is", () => {
  const { kind, text } = obstacleOf({ spec: { minAvailable: "x" } });
  assert.equal(kind, "unusable");
  assert.match(text, /^it is invalid: spec\.minAvailable/);
});

test("a crowd of PodProtectors is told as such", () => {
  const refusals = [{ id: "core/shop/p0" as never, verdict: { kind: "crowd" } }] as const;
  const [obstacle] = obstaclesOf({ by: "podprotectors", refusals }, nothing);
  assert.equal(obstacle?.text, "more PodProtectors count the pod than can be asked");
});

test("a PodDisruptionBudget says what it needs and has", () => {
  const budget = readBudget({
    metadata: { namespace: "shop", name: "web" },
    spec: { selector: {} },
    status: { desiredHealthy: 3, currentHealthy: 3, expectedPods: 3 },
  });
  assert(budget !== undefined);
  const told = (kind: "none-allowed" | "several" | "unobserved", changes = {}): Obstacle | undefined =>
    obstaclesOf({ by: "budget", refusal: { kind, budgets: [{ ...budget, ...changes }] } }, nothing)[0];
  assert.deepEqual(told("none-allowed"), {
    kind: "budget",
    by: "PodDisruptionBudget shop/web",
    text: "it needs 3 healthy pods of 3, and has 3",
    cure: "add a replica, or let the budget allow one disruption",
  });
  assert.equal(told("none-allowed", { desired: 2, healthy: 2 })?.cure, "find out why pods are not ready");
  assert.match(told("several")?.text ?? "", /several budgets: web$/);
  assert.equal(told("unobserved")?.text, "it is not processed yet");
});
