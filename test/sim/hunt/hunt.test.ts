import assert from "node:assert/strict";
import { test } from "node:test";
import { describeFailure, HuntTotals, replayCommand } from "./hunt.ts";
import { upgradesLeftOut } from "../plan.ts";
import { lostOutcome } from "../workers/task.ts";

test("the last line sums worlds, deletions, violations, strikes by fault and worlds by fault class", () => {
  const totals = new HuntTotals();
  const good = { ...lostOutcome({ seed: 1, only: ["crashes"] }, ""), finding: undefined };
  totals.add({
    ...good,
    deletions: 5,
    admitted: 2,
    refused: 3,
    restoreBreaches: 6,
    virtualMs: 7_200_000,
    exclusions: new Map([["forced", { times: 2, longestMs: 3_000 }]]),
    strikes: new Map([["crashes", 4]]),
  });
  totals.add({
    ...lostOutcome({ seed: 2, only: ["crashes", "edits"] }, "floor broken"),
    exclusions: new Map([["forced", { times: 1, longestMs: 4_000 }]]),
    strikes: new Map([
      ["crashes", 1],
      ["edits", 2],
    ]),
  });
  const told = JSON.parse(totals.json()) as Record<string, unknown>;
  const { worlds, deletions, admitted, refused, violations, restoreBreaches, faults, virtualHours } = told;
  assert.deepEqual(
    { worlds, deletions, admitted, refused, violations, restoreBreaches, faults, virtualHours },
    {
      worlds: 2,
      deletions: 5,
      admitted: 2,
      refused: 3,
      violations: 1,
      restoreBreaches: 6,
      faults: { crashes: 5, edits: 2 },
      virtualHours: 2,
    },
  );
  const worldsWith = told["worldsWithFaultClass"] as Record<string, number>;
  assert.deepEqual(told["exclusions"], { forced: [3, 4] });
  assert.deepEqual([worldsWith["crashes"], worldsWith["edits"], worldsWith["latency"]], [2, 1, 0]);
});

test("the last line says how many worlds were not upgraded because the previous release is not there", () => {
  const totals = new HuntTotals();
  const outcome = { ...lostOutcome({ seed: 1 }, ""), finding: undefined };
  totals.add(outcome);
  assert.doesNotMatch(totals.line(), /UPGRADES/);
  totals.add({ ...outcome, strikes: new Map([[upgradesLeftOut, 1]]) });
  assert.match(totals.line(), /, 0 violations, 1 UPGRADES LEFT OUT$/);
});

test("a failure names its seed, its faults, its last events and the commands that repeat and shrink it", () => {
  const outcome = {
    ...lostOutcome({ seed: 7, only: ["crashes"] }, "floor broken: 1 of 2"),
    recent: ["1.000 first", "2.000 last"],
  };
  const text = describeFailure(outcome);
  for (const part of [
    /VIOLATION with seed 7 of commit \S+: floor broken: 1 of 2/,
    /fault classes: crashes/,
    /the last 2 events:\n {4}1\.000 first\n {4}2\.000 last/,
    /again: {3}make sim SEED=7 MINUTES=0 ONLY=crashes\n/,
    /smaller: make sim SEED=7 SHRINK=1 ONLY=crashes\n/,
  ]) {
    assert.match(text, part);
  }
});

test("a replay carries the overrides of the plan, and no faults at all as none", () => {
  assert.equal(replayCommand({ seed: 3 }), "make sim SEED=3 MINUTES=0");
  assert.equal(
    replayCommand({ seed: 3, only: [], plan: { webhooks: 1 } }),
    `make sim SEED=3 MINUTES=0 ONLY=none PLAN='{"webhooks":1}'`,
  );
});
