import assert from "node:assert/strict";
import { test } from "node:test";
import { createSeededRng } from "../support/seeded-rng.ts";
import { drawPlan, type Plan } from "./plan.ts";

const plans = Array.from({ length: 2_000 }, (_, seed) => drawPlan(createSeededRng(seed)));
const podsOf = ({ cells, podsPerCell }: Plan): number => cells.length * podsPerCell;
const greatest = (value: (plan: Plan) => number): number => Math.max(...plans.map(value));

test("seeds draw up to 20 cells, 200 pods a cell and 12 webhooks", () => {
  assert.equal(
    greatest(({ cells }) => new Set(cells).size),
    20,
  );
  assert.ok(greatest(({ podsPerCell }) => podsPerCell) > 180);
  assert.ok(greatest(({ podsPerCell }) => podsPerCell) <= 200);
  assert.equal(
    greatest(({ webhooks }) => webhooks),
    12,
  );
});

test("at most one world in 20 has more than 50 pods", () => {
  const large = plans.filter((plan) => podsOf(plan) > 50).length;
  assert.ok(large > plans.length / 40 && large <= plans.length / 20, `${large} are large`);
});

test("every floor is one that the pods can meet", () => {
  for (const plan of plans) assert.ok(plan.minAvailable >= 1 && plan.minAvailable <= podsOf(plan));
});

test("a world with one replica of something does not lose it", () => {
  for (const { loss, webhooks, cells } of plans) {
    if (loss === "webhook" || loss === "writes of a webhook") assert.ok(webhooks > 1);
    if (loss === "cell" || loss === "aggregator" || loss === "writes of a cell") assert.ok(cells.length > 1);
  }
});

test("about half of the worlds answer pods in protobuf", () => {
  const share = plans.filter(({ servesProtobuf }) => servesProtobuf).length / plans.length;
  assert.ok(share > 0.45 && share < 0.55, `${share}`);
});

test("where heartbeats are forbidden nothing is lost and nothing is upgraded", () => {
  const few = plans.filter(({ forbidsHeartbeats }) => forbidsHeartbeats);
  assert.ok(few.length > plans.length / 100, `${few.length}`);
  for (const { loss, upgrade } of few) assert.deepEqual([loss, upgrade], ["none", "none"]);
});
