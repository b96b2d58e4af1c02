import assert from "node:assert/strict";
import { test } from "node:test";
import { Budgets, readBudget } from "../../../../src/commands/simulate/budgets.ts";
import { type JsonObject } from "../../../double/index.ts";
import { pod } from "./support.ts";

function raw(status: JsonObject, spec: JsonObject = {}, name = "web"): JsonObject {
  return {
    metadata: { namespace: "shop", name, generation: 2 },
    spec: { selector: { matchLabels: { app: "web" } }, ...spec },
    status: { observedGeneration: 2, ...status },
  };
}

const tight = { disruptionsAllowed: 1, currentHealthy: 3, desiredHealthy: 2, expectedPods: 3 };

function budgetsOf(...all: readonly JsonObject[]): Budgets {
  return new Budgets(all.flatMap((one) => readBudget(one) ?? []));
}

test("as many pods may go as disruptions are allowed, until these are replaced", () => {
  const budgets = budgetsOf(raw(tight));
  assert.equal(budgets.take(pod("web-1")), undefined);
  assert.equal(budgets.take(pod("web-2"))?.kind, "none-allowed");
  budgets.replaced([pod("web-1")]);
  assert.equal(budgets.take(pod("web-2")), undefined);
});

test("a pod without a controller is not replaced, so the budget has one healthy pod less", () => {
  const budgets = budgetsOf(raw(tight));
  budgets.replaced([pod("web-1", { controllerKind: undefined })]);
  assert.equal(budgets.take(pod("web-2"))?.kind, "none-allowed");
});

test("the replacement of a pod that was not ready is one healthy pod more", () => {
  const budgets = budgetsOf(raw({ ...tight, disruptionsAllowed: 0, currentHealthy: 2 }));
  assert.equal(budgets.take(pod("web-1"))?.kind, "none-allowed");
  budgets.replaced([pod("web-2", { isReady: false })]);
  assert.equal(budgets.take(pod("web-1")), undefined);
});

test("pods that were evicted a moment ago are counted as healthy once all is replaced", () => {
  const budgets = budgetsOf(
    raw({ ...tight, disruptionsAllowed: 0, currentHealthy: 2, disruptedPods: { "web-9": "t" } }),
  );
  budgets.replaced([]);
  assert.equal(budgets.take(pod("web-1")), undefined);
});

test("pods that serve nobody pass, and pods that are not ready where enough others are", () => {
  const none = { ...tight, disruptionsAllowed: 0 };
  for (const one of [
    pod("web-1", { phase: "Pending", isReady: false }),
    pod("web-1", { phase: "Succeeded" }),
    pod("web-1", { metadata: { deletionTimestamp: "x" } }),
    pod("web-1", { isReady: false }),
  ])
    assert.equal(budgetsOf(raw(none)).take(one), undefined);
  const short = { ...none, currentHealthy: 1 };
  const unready = pod("web-1", { isReady: false });
  assert.equal(budgetsOf(raw(short)).take(unready)?.kind, "none-allowed");
  assert.equal(budgetsOf(raw(short, { unhealthyPodEvictionPolicy: "AlwaysAllow" })).take(unready), undefined);
});

test("two budgets of one pod, and one whose spec is not processed, let nothing go", () => {
  assert.equal(budgetsOf(raw(tight), raw(tight, {}, "other")).take(pod("web-1"))?.kind, "several");
  assert.equal(budgetsOf(raw({ ...tight, observedGeneration: 1 })).take(pod("web-1"))?.kind, "unobserved");
});

test("a budget is about pods of its own namespace that it selects", () => {
  const budgets = budgetsOf(raw({ ...tight, disruptionsAllowed: 0 }));
  assert.equal(budgets.take(pod("web-1", { namespace: "elsewhere" })), undefined);
  assert.equal(budgets.take(pod("other-1", { app: "other" })), undefined);
  assert.equal(readBudget(raw(tight, { selector: null })), undefined);
  assert.equal(readBudget(raw(tight, { selector: { matchExpressions: [{ key: "a", operator: "Near" }] } })), undefined);
  assert.equal(readBudget("text"), undefined);
});
