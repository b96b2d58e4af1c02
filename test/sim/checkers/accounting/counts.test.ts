import assert from "node:assert/strict";
import { test } from "node:test";
import { type Aggregation, type PodProtector } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { cell, counts, protector } from "../../../unit/accounting/samples.ts";
import { Kernel } from "../../kernel/kernel.ts";
import { CountsChecker } from "./counts.ts";
import { Ledger } from "./ledger.ts";
import { Standing } from "./standing.ts";

/** A PodProtector whose minReadySeconds has been lowered from 16 to 5, with these counts of its only cell. */
function afterEdit(countsBy: (standing: Standing) => Aggregation) {
  const ledger = new Ledger(new Kernel(1));
  const standing = new Standing("web", ledger, "Available");
  const withSeconds = (minReadySeconds: number, aggregation: Aggregation): PodProtector => {
    const object = protector(1, [cell(aggregation)]);
    return { ...object, spec: { ...object.spec, minReadySeconds } };
  };
  const before = withSeconds(16, counts(0));
  standing.edited(before, undefined);
  const after = withSeconds(5, countsBy(standing));
  standing.object = after;
  standing.edited(after, before);
  return new CountsChecker("web", standing, ledger);
}

test("a cell that has yet to be counted anew after an edit has not settled, whatever its counts say", () => {
  assert.equal(afterEdit(({ spec }) => counts(0, { countedSpec: spec })).isCurrent(), false);
});

test("a cell has not settled while counts of an earlier spec are in force as a lower bound", () => {
  const checker = afterEdit(({ spec }) => counts(0, { countedSpec: spec, countedMinReadySeconds: 16 }));
  assert.equal(checker.isCurrent(), false);
});

test("a cell that was counted by the present spec has settled", () => {
  assert.equal(
    afterEdit(({ specBy }) => counts(0, { countedSpec: specBy(5), countedMinReadySeconds: 5 })).isCurrent(),
    true,
  );
});

test("counts from which a Go component has stripped what was counted have settled: nobody counts anew", () => {
  const { countedSpec: _, ...stripped } = counts(0);
  assert.equal(afterEdit(() => stripped).isCurrent(), true);
});
