import assert from "node:assert/strict";
import { test } from "node:test";
import { cellLeaseAnnotations } from "../../../../src/api/cell-lease.ts";
import { builtInResources } from "../../../double/index.ts";
import {
  ago,
  createCellLease,
  createFleet,
  createProtector,
  type Fleet,
  forbid,
  systemNamespace,
} from "../support/fleet.ts";

/** Three cells, one of them silent; a workload at its floor, one that is well, one that waits for the silent cell. */
async function shopFleet(): Promise<Fleet> {
  const fleet = await createFleet();
  const { core, clock } = fleet;
  await createCellLease(core, clock, undefined);
  await createCellLease(core, clock, "w1", { agoMs: 300 });
  await createCellLease(core, clock, "w2", { agoMs: 1_400 });
  await createCellLease(core, clock, "w3", { agoMs: 242_000 });
  await createProtector(core, "search", {
    minAvailable: 90,
    cells: [
      { cellID: "w1", available: 60 },
      { cellID: "w2", available: 57 },
    ],
  });
  await createProtector(core, "checkout", {
    minAvailable: 34,
    cells: [
      { cellID: "w1", available: 19 },
      { cellID: "w2", available: 15 },
    ],
    conditions: [{ type: "AtFloor", lastTransitionTime: ago(clock, 240_000) }],
  });
  await createProtector(core, "billing", {
    minAvailable: 9,
    cells: [
      { cellID: "w1", available: 4 },
      { cellID: "w2", available: 4 },
      { cellID: "w3", available: 4 },
    ],
  });
  return fleet;
}

test("status shows what is wrong first, with the numbers, the cells and the age of silent ones", async () => {
  const fleet = await shopFleet();
  const { exitCode, stdout, stderr, problem } = await fleet.run("status");
  assert.deepEqual([exitCode, stderr, problem], [1, [], undefined]);
  const lines = stdout.split("\n");
  assert.match(lines[1] ?? "", /^shop\/billing +9 +8 +0 +0 +cell silent/);
  assert.match(stdout, /\n {4}cells: w1 4, w2 4, w3 silent 4 m 02 s \(4\)\n/);
  assert.match(stdout, /\nshop\/checkout +34 +34 +0 +0 +at floor\n/);
  assert.match(stdout, /\n {4}at floor for 4 m 00 s\n/);
  assert.match(stdout, /\nshop\/search +90 +117 +0 +27 +ok\n/);
  assert.match(stdout, /\n3 PodProtectors: 1 cell silent, 1 at floor, 1 ok\n/);
  assert.match(stdout, /\nw3 +4 m 02 s ago +4 +aggregator-w3 +silent\n/);
  assert.match(stdout, /\ngenerator {2}generator-1 heard 2.0 s ago\n/);
});

test("status fits 80 and 120 columns and has no escape codes in a pipe", async () => {
  const fleet = await shopFleet();
  const longName = `a${"-very".repeat(40)}-long-name`;
  await createProtector(fleet.core, longName, { labels: { app: "long" }, cells: [{ cellID: "w1", available: 0 }] });
  for (const columns of [80, 120]) {
    fleet.terminal = { ...fleet.terminal, columns };
    const { stdout } = await fleet.run("status");
    for (const line of stdout.split("\n")) {
      assert(line.length <= columns, `${columns}: ${line}`);
      assert.match(line, /^[\x20-\x7e…]*$/);
      assert.equal(line, line.trimEnd());
    }
  }
});
