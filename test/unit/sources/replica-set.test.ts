import assert from "node:assert/strict";
import { test } from "node:test";
import { type FloorRule } from "../../../src/sources/floor.ts";
import { replicaSets } from "../../../src/sources/replica-set.ts";

const selector = { matchLabels: { app: "web" } };
const rule: FloorRule = { percentRounding: "at-least-one", singleReplica: "drainable" };
const up: FloorRule = { ...rule, percentRounding: "up" };
const down: FloorRule = { ...rule, percentRounding: "down" };
const protects: FloorRule = { ...rule, singleReplica: "protected" };

test("replicas, minReadySeconds and selector are read, the pod template is not", () => {
  const { floorBy: _, ...facts } = replicaSets.readSpec({ replicas: 3, minReadySeconds: 5, selector, template: {} })!;
  assert.deepEqual(facts, { replicas: 3, minReadySeconds: 5, selector });
});

test("a quarter may go, by the rule for percentages", () => {
  const cases: readonly (readonly [replicas: number | undefined, by: FloorRule, expected: string])[] = [
    [undefined, rule, "unprotected SingleReplica 0"],
    [1, protects, "undrainable SingleReplica 1"],
    [1, down, "undrainable RoundedDownToZero 1"],
    [3, rule, "drainable 2"],
    [3, down, "undrainable RoundedDownToZero 3"],
    [10, rule, "drainable 8"],
    [10, up, "drainable 7"],
    [0, rule, "drainable 0"],
    [-1, rule, "drainable 0"],
  ];
  for (const [replicas, by, expected] of cases) {
    const floor = replicaSets.readSpec({ replicas, selector })!.floorBy(by);
    const reason = floor.kind === "drainable" ? "" : `${floor.reason} `;
    assert.equal(`${floor.kind} ${reason}${floor.minAvailable}`, expected, `${replicas}`);
  }
});

test("what is not a usable spec is nothing, and nothing makes it throw", () => {
  for (const raw of [null, "x", {}, { selector: 5 }, { selector, replicas: "3" }])
    assert.equal(replicaSets.readSpec(raw), undefined, JSON.stringify(raw));
});
