import assert from "node:assert/strict";
import { test } from "node:test";
import { aggregatorLeaseName } from "../../../src/config/aggregator-lease-name.ts";
import { objectNameProblem } from "../../../src/config/types/kubernetes-names.ts";
import { loadGood } from "./load.ts";

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
