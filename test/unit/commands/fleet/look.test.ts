import assert from "node:assert/strict";
import { test } from "node:test";
import { lookAt } from "../../../../src/commands/fleet/look.ts";
import {
  createCellLease,
  createFleet,
  createProtector,
  createRefusal,
  type Fleet,
  forbid,
  systemNamespace,
} from "../support/fleet.ts";

const look = ({ core, clock, stop }: Fleet) =>
  lookAt({
    core: "core",
    client: core.client,
    namespace: undefined,
    leaseNamespace: systemNamespace,
    clock,
    signal: stop.signal,
  });

test("one look has everything, and an invalid PodProtector among it", async () => {
  const fleet = await createFleet();
  await createCellLease(fleet.core, fleet.clock, "w1");
  await createProtector(fleet.core, "web", { cells: [{ cellID: "w1", available: 2 }] });
  await createProtector(fleet.core, "twice", {
    cells: [
      { cellID: "w1", available: 2 },
      { cellID: "w1", available: 2 },
    ],
  });
  const uid = "11111111-2222-3333-4444-555555555555";
  await createRefusal(fleet, { name: "gone", uid, count: 1, agoMs: 0, reason: "PodProtectorLost", message: "gone" });
  const { protectors, cells, held, events, replicas, tombstones, unread } = await look(fleet);
  assert.deepEqual(
    protectors?.standings.map(({ name, available }) => [name, available]),
    [["web", 2]],
  );
  assert.deepEqual(protectors?.unusable, [
    { namespace: "shop", name: "twice", reason: 'status: the cell "w1" is there twice' },
  ]);
  assert.deepEqual([...(cells?.cells.keys() ?? [])], ["w1"]);
  assert.deepEqual([held?.held, events?.length, replicas, unread], [[], 1, [], []]);
  assert.deepEqual(
    tombstones.map((one) => one.uid),
    [uid],
  );
});

test("what may not be read is left out with a line, except Deployments, which need not be there", async () => {
  const fleet = await createFleet();
  await createProtector(fleet.core, "web", { cells: [{ cellID: "w1", available: 2 }] });
  forbid(fleet.core, /leases|configmaps|deployments|events/);
  const { protectors, cells, held, events, replicas, unread } = await look(fleet);
  assert.equal(protectors?.standings.length, 1);
  assert.deepEqual([cells, held, events, replicas], [undefined, undefined, undefined, undefined]);
  assert.equal(unread.length, 3);
});
