import assert from "node:assert/strict";
import { test } from "node:test";
import { disasterProblem, Series, verdictOf, type ServiceResult } from "../../scripts/demo/statistics.ts";

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

test("a run that holds exits with 0 and says what was left with Podseidon and without", () => {
  const { exitCode, sentences } = verdictOf(
    [result, { ...result, lowestWithout: 9 }],
    [{ title: "Node drain", problem: undefined }],
  );
  assert.equal(exitCode, 0);
  assert.deepEqual(sentences, [
    "With Podseidon every floor held: of 24 pods at least 18 stayed.",
    "Without it 1 of 2 services fell under their floors: 9 pods were left.",
  ]);
});

test("a broken floor exits with 1, and so does an act that did not go through", () => {
  assert.deepEqual(verdictOf([result, { ...result, name: "billing", lowestWith: 8 }], []), {
    exitCode: 1,
    sentences: ["billing fell to 8 available pods with Podseidon; its floor is 9"],
  });
  assert.deepEqual(verdictOf([result], [{ title: "Node drain", problem: "2 pods are left" }]), {
    exitCode: 1,
    sentences: ["Node drain: 2 pods are left"],
  });
});

test("the disaster counts only when some deletions were admitted, others refused, and all floors reached", () => {
  const { deletions } = result;
  const problem = (left: number, changes: Partial<typeof deletions>, isQuiet = true): string | undefined =>
    disasterProblem([{ left, floor: 9, deletions: { ...deletions, ...changes } }], isQuiet);
  assert.equal(problem(9, {}), undefined);
  assert.match(problem(8, {}) ?? "", /under its floor/);
  assert.match(problem(9, { admitted: 0 }) ?? "", /no deletion was admitted/);
  assert.match(problem(9, { refused: 0 }) ?? "", /no deletion was refused/);
  assert.match(problem(9, {}, false) ?? "", /still being admitted/);
});
