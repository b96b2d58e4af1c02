import assert from "node:assert/strict";
import { test } from "node:test";
import { cellLeaseAnnotations } from "../../../../src/api/cell-lease.ts";
import { lookAt } from "../../../../src/commands/fleet/look.ts";
import {
  cellLines,
  cellsJson,
  cellsTable,
  cellTone,
  heardText,
  isCellWrong,
} from "../../../../src/commands/status/cell-lines.ts";
import { createCellLease, createFleet, createProtector, plainTerminal, systemNamespace } from "../support/fleet.ts";

test("each cell has a state and what there is to say about it", async () => {
  const { core, clock, stop } = await createFleet();
  const lease = (cellID: string, agoMs: number, annotations = {}) =>
    createCellLease(core, clock, cellID, { agoMs, annotations });
  await lease("ok", 300);
  await lease("late", 60_000);
  await lease("silent", 200_000);
  await lease("kept", 200_000, { [cellLeaseAnnotations.keepUntil]: "2026-01-01T01:00:00Z" });
  await lease("retiring", 300, { [cellLeaseAnnotations.forget]: "true" });
  await lease("missing", 300, { [cellLeaseAnnotations.gate]: "missing" });
  await lease("other", 300, { [cellLeaseAnnotations.gate]: "other-cell w7" });
  await lease("odd", 300, { [cellLeaseAnnotations.keepUntil]: "soon" });
  const bucket = { startTime: "2026-01-01T00:00:00.000000Z", podUID: "x" } as never;
  await createProtector(core, "web", {
    cells: [
      { cellID: "ok", available: 3 },
      { cellID: "go", available: 2 },
      { cellID: "ghost", admissionHistory: { buckets: [bucket] } },
    ],
  });
  const signal = stop.signal;
  const options = { core: "core", client: core.client, namespace: undefined, leaseNamespace: systemNamespace };
  const lines = cellLines(await lookAt({ ...options, clock, signal }));
  assert.deepEqual(
    lines.map(({ cellID, state, protectors, available }) => [cellID, state, protectors, available]),
    [
      ["ghost", "ghost", 1, 0],
      ["missing", "gate missing", 0, 0],
      ["other", "gate wrong", 0, 0],
      ["silent", "silent", 0, 0],
      ["go", "no heartbeat", 1, 2],
      ["kept", "silent, kept", 0, 0],
      ["late", "late", 0, 0],
      ["odd", "ok", 0, 0],
      ["ok", "ok", 1, 3],
      ["retiring", "retiring", 0, 0],
    ],
  );
  const remarksOf = (cell: string): readonly string[] => lines.find(({ cellID }) => cellID === cell)?.remarks ?? [];
  assert.deepEqual(remarksOf("kept"), ["its last counts are kept in force until 2026-01-01T01:00:00.000000Z"]);
  assert.deepEqual(remarksOf("other"), ["its API server asks the webhook for another cell: w7 (looked at every 10 s)"]);
  assert.match(remarksOf("odd")[0] ?? "", /keep-until="soon" is ignored; allowed: an RFC 3339 time/);
  assert.deepEqual(lines.map(heardText).slice(0, 2), ["never", "0.3 s ago"]);
  assert.deepEqual([isCellWrong("retiring"), cellTone("ok"), cellTone("ghost")], [false, "good", "bad"]);
});

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
