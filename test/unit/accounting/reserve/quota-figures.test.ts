import assert from "node:assert/strict";
import { test } from "node:test";
import {
  allItHad,
  awaitedCells,
  countsState,
  figuresOf,
  whatItKeeps,
} from "../../../../src/accounting/reserve/quota-figures.ts";
import { anonymous, cell, context, counts, lostUpTo, protector, single, version } from "../samples.ts";

const restored = context(lostUpTo(version(100)));

test("counts are in force, absent, of another spec, or lost by a restore of the core", () => {
  assert.equal(countsState(cell(counts(9)), context()), "in-force");
  assert.equal(countsState(undefined, context()), "none");
  assert.equal(countsState(cell(undefined, [single("q")]), context()), "none");
  assert.equal(countsState(cell(counts(9, { countedSpec: "former" })), context()), "other-spec");
  assert.equal(countsState(cell(counts(9)), restored), "lost");
  assert.equal(countsState(cell({ totalReplicas: 9, availableReplicas: 9 }), restored), "lost");
});

test("counts with a version above what a restore made doubtful are in force again", () => {
  assert.equal(countsState(cell(counts(9, { resourceVersion: version(101) })), restored), "in-force");
  assert.equal(countsState(cell(counts(9, { resourceVersion: version(99) })), restored), "lost");
  assert.equal(countsState(cell(counts(9), [], "b"), restored), "in-force");
});

const cells = [
  cell(counts(4, { readyReplicas: 5 }), [single("q")], "a"),
  cell(counts(3, { countedSpec: "former" }), [anonymous(2)], "b"),
  cell(counts(2, { countedSpec: "former" }), [], "c"),
  cell(counts(0, { countedSpec: "former" }), [], "d"),
  cell(undefined, [single("r")], "e"),
];

test("only counts in force are added up, less what is promised of them, which takes nothing from other cells", () => {
  const figures = figuresOf(protector(3, cells), cells, "Available", context());
  assert.deepEqual([figures.required, figures.aggregated, figures.unconfirmed, figures.outstanding], [3, 4, 2, 4]);
  assert.deepEqual(
    figures.cells.map(({ cellID, counts: state, aggregated, last, unconfirmed }) =>
      [cellID, state, aggregated, last, unconfirmed].join(" "),
    ),
    ["a in-force 4 4 1", "b other-spec 0 3 2", "c other-spec 0 2 0", "d other-spec 0 0 0", "e none 0 0 1"],
  );
  assert.equal(figuresOf(protector(3, cells), cells, "Ready", context()).aggregated, 5);
  const silentForMs = (cellID: string): number | undefined => (cellID === "b" ? 240_000 : undefined);
  assert.equal(figuresOf(protector(3, cells), cells, "Available", context({ silentForMs })).outstanding, 2);
});

test("cells are waited for when their last numbers would do, all that have any", () => {
  const figures = figuresOf(protector(3, cells), cells, "Available", context());
  assert.deepEqual(awaitedCells(figures, 5, allItHad), ["b", "c"]);
  assert.deepEqual(awaitedCells(figures, 1, allItHad), ["b", "c"]);
  assert.deepEqual(awaitedCells(figures, 6, allItHad), []);
  assert.deepEqual(awaitedCells(figures, 3, whatItKeeps), ["b", "c"]);
  assert.deepEqual(awaitedCells(figures, 4, whatItKeeps), []);
});

test("what is promised in a cell that nobody has counted takes from the sum: its pods may be those of another", () => {
  const uncounted = [...cells.slice(0, 1), cell(undefined, [anonymous(2)], "typo")];
  const unconfirmed = (silent?: string): number => {
    const silentForMs = (cellID: string): number | undefined => (cellID === silent ? 240_000 : undefined);
    return figuresOf(protector(3, uncounted), uncounted, "Available", context({ silentForMs })).unconfirmed;
  };
  assert.equal(unconfirmed(), 3);
  assert.equal(unconfirmed("typo"), 1);
});
