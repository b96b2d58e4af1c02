import assert from "node:assert/strict";
import { test } from "node:test";
import { problemsOf, Series, type ServiceResult } from "./statistics.ts";

const result: ServiceResult = {
  name: "search",
  replicas: 12,
  floor: 9,
  lowestWith: 9,
  lowestWithout: 0,
  deletions: { tried: 20, admitted: 3, refused: 15, unanswered: 2 },
};

test("a series keeps the lowest and the last value of each slot of time", () => {
  const series = new Series(100);
  series.add(10, 12);
  series.add(20, 7);
  series.add(90, 11);
  series.add(250, 12);
  assert.deepEqual(series.points, [
    { atMs: 0, lowest: 7, last: 11 },
    { atMs: 200, lowest: 12, last: 12 },
  ]);
  assert.equal(series.lowest, 7);
});

test("a series without values has no lowest one", () => {
  assert.equal(new Series(100).lowest, undefined);
});

test("a run in which each service stood on its floor and each act went through has no problems", () => {
  assert.deepEqual(problemsOf([result], [{ title: "Node drain", problem: undefined }]), []);
});

test("a service that fell under its floor is a problem, whatever happened without Podseidon", () => {
  const [problem, ...others] = problemsOf([{ ...result, lowestWith: 8 }, result], []);
  assert.equal(problem, "search fell to 8 available pods with Podseidon; its floor is 9");
  assert.deepEqual(others, []);
});

test("an act that did not go through is a problem", () => {
  assert.deepEqual(problemsOf([result], [{ title: "Node drain", problem: "2 pods are left" }]), [
    "Node drain: 2 pods are left",
  ]);
});
