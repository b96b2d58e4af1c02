import assert from "node:assert/strict";
import { test } from "node:test";
import { Kernel } from "../kernel/kernel.ts";
import { SimNode } from "../kernel/node.ts";
import { type Keeper, leftovers, type Rest } from "./bounds.ts";

const node = new SimNode(new Kernel(1), "webhook-1");
const rest: Rest = { cores: new Map([["core", 1]]), isOnly: true, protectorsLost: 0, isSettled: true };

function keeper(gauges: Readonly<Record<string, number>>): Keeper {
  return { name: "webhook-1", node: () => node, gauges: () => new Map(Object.entries(gauges)) };
}

test("a batch that does not end is left behind", () => {
  const one = keeper({ "retrybatch_inflight_keys podprotector-update": 1, webhook_reviews_held: 0 });
  assert.deepEqual(leftovers([one], rest), ["webhook-1: retrybatch_inflight_keys podprotector-update is 1"]);
});

test("what cannot be recorded in a core that is lost for ever may go on trying, and no more than that", () => {
  const two = keeper({ "retrybatch_inflight_keys podprotector-update": 2 });
  assert.deepEqual(leftovers([two], { ...rest, protectorsLost: 2 }), []);
  assert.deepEqual(leftovers([two], { ...rest, protectorsLost: 1 }), [
    "webhook-1: retrybatch_inflight_keys podprotector-update is 2",
  ]);
  const held = keeper({ webhook_reviews_held: 1 });
  assert.deepEqual(leftovers([held], { ...rest, protectorsLost: 2 }), ["webhook-1: webhook_reviews_held is 1"]);
});

test("what was released stays in force nowhere", () => {
  assert.deepEqual(leftovers([keeper({ "webhook_tombstones core": 1 })], rest), []);
  assert.deepEqual(leftovers([keeper({ "webhook_tombstones core": 2 })], rest), [
    "webhook-1: webhook_tombstones core is 2",
  ]);
});
