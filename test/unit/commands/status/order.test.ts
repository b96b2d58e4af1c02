import assert from "node:assert/strict";
import { test } from "node:test";
import { type Standing, type State } from "../../../../src/commands/fleet/standing.ts";
import { areWrong, chosenLines, keyOf } from "../../../../src/commands/status/order.ts";

const one = (name: string, state: State): Standing =>
  ({ namespace: "shop", name, states: [state] }) as unknown as Standing;
const many = (count: number, state: State): Standing[] =>
  Array.from({ length: count }, (_, index) => one(`${state}-${index}`, state));

test("a small fleet is shown whole, what is wrong first and then by name", () => {
  const invalid = { namespace: "shop", name: "bad", reason: "x" };
  const { lines, counts, left } = chosenLines([one("z", "ok"), one("b", "ok"), one("y", "at floor")], [invalid], false);
  assert.deepEqual(lines.map(keyOf), ["shop/bad", "shop/y", "shop/b", "shop/z"]);
  assert.deepEqual(
    [...counts],
    [
      ["unusable", 1],
      ["at floor", 1],
      ["ok", 2],
    ],
  );
  assert.equal(left, 0);
});

test("of a large fleet those that are well or in shadow are only counted, unless all are asked for", () => {
  const fleet = [...many(30, "ok"), ...many(5, "shadow"), ...many(60, "below floor")];
  const { lines, left } = chosenLines(fleet, [], false);
  assert.deepEqual([lines.length, left], [50, 45]);
  assert(lines.every(({ state }) => state === "below floor"));
  assert.equal(chosenLines(fleet, [], true).left, 0);
});

test("a fleet is wrong when one of them is", () => {
  assert.equal(areWrong(chosenLines([one("a", "ok"), one("b", "undrainable")], [], false)), false);
  assert.equal(areWrong(chosenLines([one("a", "ok"), one("b", "dangling")], [], false)), true);
});
