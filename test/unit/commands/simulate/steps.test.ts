import assert from "node:assert/strict";
import { test } from "node:test";
import { obstacleLines, stepLines } from "../../../../src/commands/simulate/steps.ts";

test("steps are numbered, say whether they are known or expected, and fit the terminal", () => {
  const steps = [
    { isJudged: true, text: "One." },
    { isJudged: false, text: "Two is longer than the others are." },
  ];
  assert.deepEqual(stepLines(steps, { columns: 40 }), [
    "1. known     One.\n",
    "2. expected  Two is longer than the\n             others are.\n",
  ]);
});

const terminal = { columns: 80, isColoured: false };
const obstacle = {
  kind: "undrainable",
  by: "PodProtector core/shop/api",
  text: "all must stay",
  cure: "scale",
} as const;

test("an obstacle says who, what, which pods and what to do", () => {
  const pods = ["shop/api-1", "shop/api-2", "shop/api-3", "shop/api-4"];
  assert.deepEqual(obstacleLines([{ ...obstacle, pods }], terminal), [
    "\nPodProtector core/shop/api: all must stay\n" +
      "  keeps shop/api-1, shop/api-2, shop/api-3 and 1 more\n  to do: scale\n",
  ]);
});

test("no more than a screen of obstacles is shown, in red where colours are wanted", () => {
  const many = Array.from({ length: 22 }, () => ({ ...obstacle, pods: ["shop/api-1"] }));
  const lines = obstacleLines(many, { columns: 80, isColoured: true });
  assert.equal(lines.length, 21);
  assert.match(lines[0] ?? "", /^\n\u001b\[31mPodProtector/);
  assert.equal(lines.at(-1), "\nAnd 2 more; -o json has them all.\n");
});

test("names of pods cannot change the terminal", () => {
  const [text = ""] = obstacleLines([{ ...obstacle, pods: ["shop/\u001b[2J"] }], terminal);
  assert.doesNotMatch(text, /\u001b/);
});
