import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type CellStatus,
  type Condition,
  type PodProtectorStatus,
} from "../../../../src/api/v1alpha1/pod-protector.ts";
import { countedSpec, CountedSpec } from "../../../../src/accounting/count/counted-spec.ts";
import { floorConditions, hasNews, writesConditionsAlone } from "../../../../src/accounting/count/floor-conditions.ts";
import { summarize } from "../../../../src/accounting/count/summary.ts";
import { cell, counts, single } from "../samples.ts";

const question = new CountedSpec("uid", "app in (web)", 0);
const answered = { countedSpec: countedSpec("uid", "app in (web)", 0) };
const edited = { countedSpec: countedSpec("uid", "app in (other)", 0) };

const statusOf = (cells: readonly CellStatus[], minAvailable = 1): PodProtectorStatus => ({
  cells,
  summary: summarize(cells, { minAvailable }),
});
const holding = (minAvailable: number, cells: readonly CellStatus[]): string[] =>
  Object.entries(floorConditions({ minAvailable }, statusOf(cells), question)).flatMap(([type, found]) =>
    found === false ? [] : [type],
  );

test("an object is at its floor when the promised deletions leave exactly what must stay, below it when less", () => {
  const cells = [cell(counts(3, answered), [single("x")], "a"), cell(counts(2, answered), [], "b")];
  assert.deepEqual(holding(3, cells), []);
  assert.deepEqual(holding(4, cells), ["AtFloor"]);
  assert.deepEqual(holding(5, cells), ["BelowFloor"]);
});

test("without a floor an object is neither at it nor below it", () => {
  assert.deepEqual(holding(0, [cell(counts(0, answered), [], "a")]), []);
  assert.deepEqual(holding(-1, [cell(counts(0, answered), [single("x")], "a")]), []);
});

test("cells whose counts answer another spec, or that have none, are pending and are named", () => {
  const cells = [
    cell(counts(3, answered), [], "a"),
    cell(counts(2, edited), [], "b"),
    cell(undefined, [], "c"),
    ...Array.from({ length: 8 }, (_, index) => cell(counts(1, edited), [], `d${index}`)),
  ];
  assert.deepEqual(holding(1, cells), ["CountsPending"]);
  const { CountsPending } = floorConditions({ minAvailable: 1 }, statusOf(cells), question);
  assert.ok(CountsPending !== undefined && CountsPending !== false);
  assert.match(CountsPending.message, /: "b", "c", "d0", .*"d5" and 2 more$/);
});

test("an object with a criterion of its own stands against its floor by that, and an unknown one is said", () => {
  const cells = [cell(counts(3, { ...answered, runningReplicas: 5 }), [single("x")], "a")];
  const by = (healthCriterion: string) =>
    floorConditions({ minAvailable: 4, healthCriterion }, statusOf(cells), question);
  assert.partialDeepStrictEqual(by("Available"), { BelowFloor: { reason: "TooFewAvailable" }, SpecIgnored: false });
  assert.partialDeepStrictEqual(by("Running"), { AtFloor: { reason: "NothingFree" }, BelowFloor: false });
  const unknown = by("running");
  assert.partialDeepStrictEqual(unknown, { BelowFloor: { reason: "TooFewAvailable" } });
  assert.match(JSON.stringify(unknown.SpecIgnored), /is ignored, so it is Available: it must be one of Scheduled, /);
});

test("conditions alone are written for the first counted cell only, and not while an admission is open", () => {
  const cells = [cell(undefined, [], "ghost"), cell(counts(3), [], "a"), cell(counts(2), [], "b")];
  assert.equal(writesConditionsAlone(statusOf(cells), "a"), true);
  assert.equal(writesConditionsAlone(statusOf(cells), "b"), false);
  assert.equal(writesConditionsAlone(statusOf(cells), "ghost"), false);
  const open = [...cells.slice(0, 2), cell(counts(2), [single("x")], "b")];
  assert.equal(writesConditionsAlone(statusOf(open), "a"), false);
});

const condition = (type: string, changes: Partial<Condition> = {}): Condition => ({
  type,
  status: "True",
  reason: "Any",
  message: "",
  lastTransitionTime: "2026-01-01T00:00:00Z",
  ...changes,
});

test("it is news when what is free, where an object stands, or the generation that this is about has changed", () => {
  const cells = [cell(counts(3), [], "a")];
  const told = (minAvailable: number, ...conditions: readonly Condition[]): PodProtectorStatus => ({
    ...statusOf(cells, minAvailable),
    conditions,
  });
  const known = told(1, condition("AtFloor"), condition("Ready", { observedGeneration: 2 }));
  assert.equal(hasNews(known, known), false);
  assert.equal(hasNews(known, { ...known, summary: statusOf(cells, 2).summary }), true);
  const ready = condition("Ready", { observedGeneration: 2 });
  assert.equal(hasNews(known, told(1, condition("AtFloor", { status: "False" }), ready)), true);
  assert.equal(hasNews(known, told(1, condition("AtFloor", { message: "other" }), ready)), true);
  assert.equal(hasNews(known, told(1, condition("AtFloor"), condition("BelowFloor"), ready)), true);
  assert.equal(hasNews(known, told(1, condition("AtFloor"), condition("Ready", { observedGeneration: 3 }))), true);
});

test("what is absent is no news, and neither is another word for how an object fares", () => {
  const cells = [cell(counts(3), [], "a")];
  const { promised: _, disruptionsAllowed: __, countedCells: ___, ...ofGo } = statusOf(cells).summary;
  const next = { ...statusOf(cells), conditions: [condition("Ready", { observedGeneration: 2 })] };
  assert.equal(hasNews({ cells, summary: ofGo }, next), false);
  assert.equal(hasNews({ ...next, conditions: [condition("Ready")] }, next), false);
  const before = condition("Ready", { observedGeneration: 2, reason: "Other" });
  assert.equal(hasNews({ ...next, conditions: [before] }, next), false);
});

test("pods of other owners are told with what becomes of them, over all cells", () => {
  const cells = [cell(counts(3, { ...answered, foreignReplicas: 2 })), cell(counts(1, answered), [], "b")];
  const by = (foreignOwners?: readonly string[]) =>
    floorConditions({ minAvailable: 1, ...(foreignOwners && { foreignOwners }) }, statusOf(cells), question);
  assert.match(JSON.stringify(by().ForeignPods), /"Counted".*2 of the pods .*count as replicas: podseidon approve/);
  assert.match(JSON.stringify(by(["Job.batch"]).ForeignPods), /"LeftOut".*neither counted nor protected/);
  assert.equal(floorConditions({ minAvailable: 1 }, statusOf(cells.slice(1)), question).ForeignPods, false);
});
