import assert from "node:assert/strict";
import { test } from "node:test";
import { type CellFigures, type QuotaFigures } from "../../../../src/accounting/reserve/quota-figures.ts";
import { type PodProtector } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { callersText, cellsText, conditionAge, stateText, toneOf } from "../../../../src/commands/fleet/wording.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";

const cell = (cellID: string, changes: Partial<CellFigures> = {}): CellFigures => ({
  cellID,
  counts: "in-force",
  aggregated: 7,
  last: 7,
  unconfirmed: 0,
  ...changes,
});

const textOf = (...cells: readonly CellFigures[]): string =>
  cellsText({ figures: { cells } as unknown as QuotaFigures });

test("each cell is told with what it has counted and promised, and why that is not in force", () => {
  assert.equal(textOf(), "none");
  assert.equal(textOf(cell("w1"), cell("w2", { unconfirmed: 2 })), "w1 7, w2 7 - 2");
  assert.equal(textOf(cell("w1", { silentForMs: 242_000, aggregated: 0 })), "w1 silent 4 m 02 s (7)");
  assert.equal(textOf(cell("w1", { counts: "none", last: 0, unconfirmed: 1 })), "w1 not counted - 1");
  assert.equal(textOf(cell("w1", { counts: "other-spec", aggregated: 0 })), "w1 not counted again (7)");
  const many = Array.from({ length: 10 }, (_, index) => cell(`w${index}`));
  assert.match(textOf(...many), /, w7 7 and 2 more$/);
});

test("all states are told, and what is wrong is red", () => {
  assert.equal(stateText({ states: ["at floor", "undrainable"] }), "at floor, undrainable");
  assert.deepEqual([toneOf("below floor"), toneOf("at floor"), toneOf("ok")], ["bad", "warning", "good"]);
});

test("a condition has an age while it holds", () => {
  const at = (Date.UTC(2026, 0, 1) * 1000) as EpochMicros;
  const of = (status: string, lastTransitionTime: string): string | undefined => {
    const conditions = [{ type: "AtFloor", status, lastTransitionTime, reason: "x", message: "" }];
    return conditionAge({ protector: { status: { conditions } } as unknown as PodProtector }, "AtFloor", at);
  };
  assert.equal(of("True", "2025-12-31T23:56:00Z"), "4 m 00 s");
  assert.equal(of("False", "2025-12-31T23:56:00Z"), undefined);
  assert.equal(of("True", "yesterday"), undefined);
});

test("those who asked most are named", () => {
  const callers = ["a", "b", "c", "d"].map((name, index) => ({ name, count: 9 - index }));
  assert.equal(callersText({ callers }), ", by a 9, b 8, c 7 and 1 more");
  assert.equal(callersText({ callers: [] }), "");
});
