/**
 * `podseidon simulate drain` and the drain that follows, in random clusters with the product's real webhook and
 * aggregators. Planted errors show that they would disagree.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Copies } from "../scenarios/rules/without-rule.ts";
import { type Agreement, agreementOf } from "./agreement.ts";
import type * as AgreementModule from "./agreement.ts";
import { plantedErrors } from "./planted-errors.ts";

/** Twenty, and those in which planted errors show. */
const seeds = new Set([
  ...Array.from({ length: 20 }, (_, index) => index + 1),
  ...plantedErrors.map(({ seed }) => seed),
]);

function told({ findings, story }: Agreement): string {
  return [...findings, "the cluster:", ...story].join("\n");
}

const seen: Agreement[] = [];

for (const seed of seeds) {
  test(`in random cluster ${seed}, the drain that follows is as the plan says`, async () => {
    const agreement = await agreementOf(seed);
    seen.push(agreement);
    assert.deepEqual(agreement.findings, [], told(agreement));
  });
}

test("in these clusters pods go at once, wait and never go, for every kind of reason", () => {
  const sum = (count: (one: Agreement) => number): number => seen.reduce((total, one) => total + count(one), 0);
  assert(sum(({ drained }) => drained.atOnce.length) > 20, "pods go at once");
  assert(sum(({ drained }) => drained.later.length) > 10, "pods have to wait");
  assert(sum(({ drained }) => drained.never.length) > 20, "pods never go");
  const kinds = [...new Set(seen.flatMap(({ obstacles }) => obstacles))].sort();
  assert.deepEqual(kinds, ["budget", "cell-unknown", "promised", "too-few-available", "undrainable", "unusable"]);
});

const copies = new Copies();
for (const { seed, ...mutation } of plantedErrors) {
  test(`plan and drain disagree in cluster ${seed} without the rule that ${mutation.why}`, async () => {
    const copy = await copies.load<typeof AgreementModule>(new URL("agreement.ts", import.meta.url), [mutation]);
    const { findings } = await copy.agreementOf(seed);
    assert.notDeepEqual(findings, []);
  });
}
