import assert from "node:assert/strict";
import { test } from "node:test";
import { createCellLease, createFleet, forbid } from "../support/fleet.ts";

const clusters = ["--core", "a=core", "--core", "b=other"];

test("a change is said before it is sent, and the first one that fails ends the command", async () => {
  const fleet = await createFleet("other");
  const other = fleet.clusters.get("other")!;
  for (const cluster of [fleet.core, other]) await createCellLease(cluster, fleet.clock, "w1");
  forbid(fleet.core, /^PATCH/);
  const { exitCode, problem, stdout } = await fleet.run("cells", "forget", "w1", ...clusters);
  assert.equal(exitCode, 1);
  assert.match(stdout, /^core: the Lease .* of cell w1 gets the/);
  assert.match(problem ?? "", /^nothing was changed by this: core: you may not patch/);
  assert.deepEqual(other.client.count(/^PATCH/), 0);
});

test("a change with -o json is told as one object, also in a dry run", async () => {
  const fleet = await createFleet();
  await createCellLease(fleet.core, fleet.clock, "w1");
  const { stdout } = await fleet.run("cells", "forget", "w1", "-o", "json", "--dry-run");
  const json = JSON.parse(stdout) as { isDryRun: boolean; changes: { core: string; what: string }[] };
  assert.equal(json.isDryRun, true);
  assert.match(json.changes[0]?.what ?? "", /^the Lease .* gets the annotation podseidon\.kubewharf\.io\/forget=true$/);
});
