import assert from "node:assert/strict";
import { test } from "node:test";
import { comparison, merged, readBaseline } from "./baseline.ts";
import { type Row } from "./row.ts";

const row = (what: string, ratio: number): Row => ({ what, ratio, figure: "1 ms", comparedWith: "2 ms" });

test("a row is shown beside its ratio in the baseline, and one that is new is not", () => {
  const baseline = { "a write": { ratio: 0.5, when: "2026-11-27, a machine" } };
  assert.equal(
    comparison(row("a write", 0.75), baseline),
    "baseline 0.5 (2026-11-27, a machine): 1.50 times as good now",
  );
  assert.equal(comparison(row("a read", 0.75), baseline), undefined);
  assert.equal(comparison(row("toString", 1), baseline), undefined);
});

test("a new baseline replaces the rows that were measured, and keeps the others", () => {
  const known = { a: { ratio: 1, when: "then" }, b: { ratio: 2, when: "then" } };
  assert.deepEqual(merged(known, [row("c", 1.23456), row("b", 12_345.6), row("d", Number.NaN)], "now"), {
    a: { ratio: 1, when: "then" },
    b: { ratio: 12_300, when: "now" },
    c: { ratio: 1.23, when: "now" },
  });
});

test("the baseline of the repository has a ratio and a day for each row", () => {
  const rows = Object.entries(readBaseline());
  assert.ok(rows.length > 0);
  for (const [what, { ratio, when }] of rows) {
    assert.ok(what.length > 0 && Number.isFinite(ratio) && ratio > 0, what);
    assert.match(when, /^\d{4}-\d{2}-\d{2}, /);
  }
});
