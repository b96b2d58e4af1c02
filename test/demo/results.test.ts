import assert from "node:assert/strict";
import { test } from "node:test";
import { chartsOf, serviceResults } from "../../scripts/demo/results.ts";
import { type RunResult } from "../../scripts/demo/story.ts";

const sizes = [{ name: "search", replicas: 12 }];
const deletions = { tried: 20, admitted: 3, refused: 15, unanswered: 2 };
const protectedRun: RunResult = {
  startMs: 5000,
  endMs: 25_000,
  disasterMs: 20_000,
  floors: new Map([["search", 9]]),
  points: new Map([["search", [{ atMs: 5000, lowest: 12, last: 12 }]]]),
  lowest: new Map([["search", 10]]),
  deletions: new Map([["search", deletions]]),
  acts: [{ title: "The disaster", fromMs: 19_000, toMs: 25_000 }],
  actResults: [],
  refusal: undefined,
  marks: [{ atMs: 21_000, text: "kill" }],
};
const bareRun: RunResult = {
  ...protectedRun,
  startMs: 30_000,
  disasterMs: 30_000,
  endMs: 34_000,
  points: new Map([["search", [{ atMs: 30_500, lowest: 0, last: 0 }]]]),
  lowest: new Map([["search", 0]]),
};

test("a row takes floor and deletions from the protected run and the lowest values from each run", () => {
  assert.deepEqual(serviceResults(sizes, protectedRun, bareRun), [
    { name: "search", replicas: 12, floor: 9, lowestWith: 10, lowestWithout: 0, deletions },
  ]);
});

test("a chart begins when the floors were in force and lets both disasters begin at the same place", () => {
  const [chart] = chartsOf(sizes, protectedRun, bareRun);
  assert.deepEqual(chart?.withPodseidon, [{ atMs: 0, lowest: 12, last: 12 }]);
  assert.deepEqual(chart?.withoutPodseidon, [{ atMs: 15_500, lowest: 0, last: 0 }]);
  assert.deepEqual(chart?.acts, [{ title: "The disaster", fromMs: 14_000, toMs: 20_000 }]);
  assert.deepEqual(chart?.marks, [{ atMs: 16_000, text: "kill" }]);
  assert.equal(chart?.endMs, 20_000);
  assert.equal(chart?.withoutEndMs, 19_000);
});
