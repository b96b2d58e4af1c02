import assert from "node:assert/strict";
import { test } from "node:test";
import { stepLines } from "../../../../src/commands/simulate/steps.ts";

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
