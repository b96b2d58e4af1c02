import assert from "node:assert/strict";
import { test } from "node:test";
import { lookAt } from "../../../../src/commands/fleet/look.ts";
import { cellsJson, cellsTable } from "../../../../src/commands/status/cells-table.ts";
import { createCellLease, createFleet, plainTerminal, systemNamespace } from "../support/fleet.ts";

test("without cells there is no table, and with one it has its holder and age", async () => {
  const { core, clock, stop } = await createFleet();
  const look = () =>
    lookAt({
      core: "core",
      client: core.client,
      namespace: undefined,
      leaseNamespace: systemNamespace,
      clock,
      signal: stop.signal,
    });
  assert.equal(cellsTable(await look(), plainTerminal), "");
  await createCellLease(core, clock, "w1", { agoMs: 300 });
  const found = await look();
  assert.match(cellsTable(found, plainTerminal), /\nw1 +0\.3 s ago +0 +aggregator-w1 +ok\n$/);
  assert.deepEqual(cellsJson(found).core, "core");
});
