import assert from "node:assert/strict";
import { test } from "node:test";
import { ageText, missedText, silenceAdvice } from "../../../../../src/webhook/decide/refusals/silence-text.ts";
import { type CellFigures, type QuotaFigures } from "../../../../../src/accounting/reserve/quota-figures.ts";

test("ages are told in seconds, minutes and hours, never more than it has been", () => {
  assert.deepEqual([-5, 0, 119_999, 120_000, 299_999, 7_199_999, 7_200_000, 90_000_000].map(ageText), [
    "0 s",
    "0 s",
    "119 s",
    "2 min",
    "4 min",
    "119 min",
    "2 h",
    "25 h",
  ]);
});

const silent = (cellID: string): CellFigures => ({
  cellID,
  counts: "in-force",
  silentForMs: 240_000,
  aggregated: 0,
  last: 2,
  unconfirmed: 0,
});

test("at most three silent cells are named", () => {
  const ids = ["a", "b", "c", "d", "e"];
  const figures: QuotaFigures = {
    criterion: "Available",
    required: 2,
    aggregated: 2,
    total: undefined,
    unconfirmed: 0,
    outstanding: 0,
    cells: ids.map(silent),
  };
  assert.equal(
    missedText(figures, ["b"]),
    'cell "b" has been silent for 4 min, so what was counted there is left out; with it there would be room',
  );
  assert.match(
    missedText(figures, ids),
    /^cell "a" has been silent for 4 min and cell "b" .* and cell "c" has been silent for 4 min, and so have 2 more /,
  );
});

test("one cell that is not named is one cell", () => {
  const ids = ["a", "b", "c", "d"];
  const text = missedText(
    {
      criterion: "Available",
      required: 2,
      aggregated: 2,
      total: undefined,
      unconfirmed: 0,
      outstanding: 0,
      cells: ids.map(silent),
    },
    ids,
  );
  assert.match(text, /, and so has one more cell, so what was counted there/);
});

test("the advice names the Lease of the cell", () => {
  assert.match(silenceAdvice("Cell-1"), /on its Lease cell-[0-9a-f]{16} in the core cluster keeps the last counts/);
  assert.match(silenceAdvice("no cell"), /of cell "no cell": .* on its Lease keeps the last counts/);
});
