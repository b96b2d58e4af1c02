import assert from "node:assert/strict";
import { test } from "node:test";
import { interleavings } from "./interleavings.ts";

test("every order of the actors' steps comes once, and each actor takes all of its steps", () => {
  const orders = Array.from(interleavings([2, 1, 1]), (order) => order.join(""));
  assert.equal(orders.length, 12);
  assert.equal(new Set(orders).size, 12);
  for (const order of orders) assert.equal(order.split("").toSorted().join(""), "0012");
});
