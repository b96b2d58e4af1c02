import assert from "node:assert/strict";
import { test } from "node:test";
import { readUntil } from "../../../../src/commands/steer/values.ts";
import { Problem } from "../../../../src/config/reading/problem.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import { createCellLease, createFleet, forbid } from "../support/fleet.ts";

const now = (Date.UTC(2026, 0, 1) * 1000) as EpochMicros;
const day = { max: 86_400_000, maxText: "24h" };

test("--for is read as the time at which it ends, and is undefined when it is absent", () => {
  const until = (text: string) => readUntil(new Map([["for", [text]]]), now, day);
  assert.equal(until("1h30m"), "2026-01-01T01:30:00Z");
  assert.equal(until("24h"), "2026-01-02T00:00:00Z");
  assert.equal(readUntil(new Map(), now, day), undefined);
});

test("--for that is no duration, nothing, or too long is a problem that says what is allowed", () => {
  for (const text of ["", "2", "-1h", "0s", "1ms", "24h1s", "tomorrow"]) {
    const problem = readUntil(new Map([["for", [text]]]), now, day);
    assert(problem instanceof Problem, text);
    assert.match(problem.message, /^option --for: ".*" is .*; allowed: a duration such as 30m or 2h, .* up to 24h$/);
  }
});

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
