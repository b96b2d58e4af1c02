import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { listCells } from "../../../../src/commands/fleet/cells.ts";
import { listProtectors } from "../../../../src/commands/fleet/protectors.ts";
import { isWrong, type Standing, standingOf } from "../../../../src/commands/fleet/standing.ts";
import {
  ago,
  createCellLease,
  createFleet,
  createProtector,
  type ProtectorFields,
  systemNamespace,
} from "../support/fleet.ts";

async function standing(fields: ProtectorFields): Promise<Standing> {
  const { core, clock, stop } = await createFleet();
  await createCellLease(core, clock, "w1");
  await createCellLease(core, clock, "w2", { agoMs: 240_000 });
  await createProtector(core, "web", fields);
  const { valid } = await listProtectors(core.client, undefined, stop.signal);
  const cells = await listCells(core.client, systemNamespace, () => clock.epochMicros(), stop.signal);
  const read = standingOf(valid[0]!, cells);
  assert(read.ok);
  return read.standing;
}

const bucket = { startTime: "2026-01-01T00:00:00.000000Z", podUID: "x" } as never;

test("the four numbers are those that a webhook judges by", async () => {
  const { mustStay, available, promised, free, states } = await standing({
    minAvailable: 4,
    cells: [{ cellID: "w1", available: 7, buckets: [bucket] }],
  });
  assert.deepEqual([mustStay, available, promised, free, states], [4, 7, 1, 2, ["ok"]]);
});

test("the states are told, the worst first", async () => {
  const cell = (available: number) => ({ cellID: "w1", available });
  const silent = { cellID: "w2", available: 3 };
  const cases: readonly (readonly [ProtectorFields, readonly string[]])[] = [
    [{ minAvailable: 4, cells: [cell(3)] }, ["below floor"]],
    [{ minAvailable: 4, cells: [cell(4)] }, ["at floor"]],
    [{ minAvailable: 0, cells: [cell(0)] }, ["ok"]],
    // With what the silent cell had last there would be enough.
    [{ minAvailable: 5, cells: [cell(3), silent] }, ["cell silent"]],
    [{ minAvailable: 7, cells: [cell(3), silent] }, ["below floor", "cell silent"]],
    [{ minAvailable: 1, cells: [] }, ["below floor", "not counted"]],
    [{ minAvailable: 1, cells: [cell(3), { cellID: "w3" }] }, ["not counted"]],
    [{ cells: [cell(9)], conditions: [{ type: "Dangling" }, { type: "Undrainable" }] }, ["dangling", "undrainable"]],
    [{ cells: [cell(9)], conditions: [{ type: "ChangeHeld", status: "False" }] }, ["ok"]],
    [{ minAvailable: 0, cells: [cell(1)], conditions: [{ type: "Unprotected" }] }, ["unprotected"]],
    [{ cells: [cell(9)], metadata: { annotations: { [annotations.mode]: "shadow" } } }, ["shadow"]],
    [{ cells: [cell(9)], metadata: { annotations: { [annotations.released]: "true" } } }, ["released"]],
  ];
  for (const [fields, expected] of cases) {
    assert.deepEqual((await standing(fields)).states, expected, JSON.stringify(fields));
  }
  assert.deepEqual((["cell silent", "undrainable", "at floor", "dangling"] as const).map(isWrong), [
    true,
    false,
    false,
    true,
  ]);
});

test("a status that webhooks cannot use is told with the reason", async () => {
  const { core, stop } = await createFleet();
  await createProtector(core, "web", {
    cells: [
      { cellID: "w1", available: 1 },
      { cellID: "w1", available: 1 },
    ],
  });
  const { valid } = await listProtectors(core.client, undefined, stop.signal);
  assert.deepEqual(standingOf(valid[0]!, undefined), { ok: false, reason: 'status: the cell "w1" is there twice' });
});

test("without the Leases all counts are in force", async () => {
  const { core, clock, stop } = await createFleet();
  await createCellLease(core, clock, "w2", { agoMs: 240_000 });
  await createProtector(core, "web", { cells: [{ cellID: "w2", available: 3, countedAt: ago(clock, 1_000) }] });
  const { valid } = await listProtectors(core.client, undefined, stop.signal);
  const read = standingOf(valid[0]!, undefined);
  assert(read.ok);
  assert.equal(read.standing.available, 3);
});

test("cells are told by their names, in whatever order they were first counted", async () => {
  const { figures } = await standing({
    cells: [
      { cellID: "w9", available: 3 },
      { cellID: "w1", available: 3 },
    ],
  });
  assert.deepEqual(
    figures.cells.map(({ cellID }) => cellID),
    ["w1", "w9"],
  );
});
