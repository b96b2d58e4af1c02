import assert from "node:assert/strict";
import { test } from "node:test";
import { electionProblem, aggregatorLeaseName } from "../../../src/config/election.ts";
import { objectNameProblem } from "../../../src/config/types/kubernetes-names.ts";
import { loadGood } from "./load.ts";

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

test("the cell default keeps upstream's Lease, and each other cell has one of its own", () => {
  assert.equal(aggregatorLeaseName("default"), "podseidon-aggregator");
  assert.equal(aggregatorLeaseName("worker-1"), "podseidon-aggregator-worker-1");
});

test("cells that differ in case, dots or underscores have different Leases with valid names", () => {
  const cells = ["Worker", "worker", "wor.ker", "wor_ker", "WOR.ker", `${"x".repeat(62)}X`];
  const names = cells.map(aggregatorLeaseName);
  assert.equal(new Set(names).size, cells.length);
  for (const name of names) assert.equal(objectNameProblem(name), undefined, name);
  assert.match(aggregatorLeaseName("wor.ker"), /^podseidon-aggregator-wor-ker-[0-9a-f]{8}$/);
});

test("a name that is given stays as it is", () => {
  const nameOf = (...argv: string[]): string => loadGood(["--role=aggregator", ...argv]).aggregator.elector.name;
  assert.equal(nameOf(), "podseidon-aggregator");
  assert.equal(nameOf("--aggregator-cell-id=b"), "podseidon-aggregator-b");
  assert.equal(nameOf("--aggregator-cell-id=b", "--aggregator-leader-elector-name=mine"), "mine");
});
