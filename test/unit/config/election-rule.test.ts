import assert from "node:assert/strict";
import { test } from "node:test";
import { electionProblem } from "../../../src/config/election-rule.ts";

const valid = {
  enable: true,
  namespace: "default",
  name: "x",
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2_000,
};
const problem = (changes: Partial<typeof valid>): string => electionProblem({ ...valid, ...changes }, "x-") ?? "";

test("the lease duration exceeds the renew deadline, which exceeds 1.2 times the retry period", () => {
  assert.equal(problem({}), "");
  assert.equal(
    problem({ leaseDurationMs: 10_000 }),
    "--x-lease-duration (10s) must be longer than --x-renew-deadline (10s)",
  );
  assert.equal(
    problem({ renewDeadlineMs: 2_400 }),
    "--x-renew-deadline (2.4s) must be longer than 1.2 times --x-retry-period (2s)",
  );
});

test("an election needs a retry period and the name of a Lease", () => {
  assert.match(problem({ retryPeriodMs: 0 }), /retry-period must be longer than 0/);
  assert.match(problem({ retryPeriodMs: Number.NaN }), /retry-period must be longer than 0/);
  assert.match(problem({ name: "" }), /-name must not be empty/);
});

test("a disabled election may have any settings", () => {
  assert.equal(problem({ enable: false, retryPeriodMs: 0 }), "");
});
