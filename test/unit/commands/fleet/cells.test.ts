import assert from "node:assert/strict";
import { test } from "node:test";
import { cellLeaseLabels } from "../../../../src/api/cell-lease.ts";
import { gateFaultOf, listCells } from "../../../../src/commands/fleet/cells.ts";
import { builtInResources } from "../../../double/index.ts";
import { createCellLease, createFleet, systemNamespace } from "../support/fleet.ts";

test("cells are listed by name with when they were heard, and the generator beside them", async () => {
  const { core, clock, stop } = await createFleet();
  await createCellLease(core, clock, "w2", { agoMs: 1_000 });
  await createCellLease(core, clock, "w1", { agoMs: 200_000 });
  await createCellLease(core, clock, undefined, { agoMs: 3_000 });
  // A copy that somebody made is no heartbeat.
  const labels = { [cellLeaseLabels.heartbeat]: "cell", [cellLeaseLabels.cell]: "w3" };
  await core.create(builtInResources.leases, systemNamespace, {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "copy", labels },
  });
  const now = (): ReturnType<typeof clock.epochMicros> => clock.epochMicros();
  const { cells, observer } = await listCells(core.client, systemNamespace, now, stop.signal);
  assert.deepEqual(
    [...cells.values()].map(({ cellID, glance }) => [cellID, glance.heardAgoMs, glance.silentForMs]),
    [
      ["w1", 200_000, 200_000],
      ["w2", 1_000, undefined],
    ],
  );
  assert.deepEqual([observer?.lease.holderIdentity, observer?.glance.heardAgoMs], ["generator-1", 3_000]);
  assert.deepEqual((await listCells(core.client, "default", now, stop.signal)).observer, undefined);
});

test("each fault of a gate says what becomes of deletions, and none says nothing", () => {
  const texts = ["missing", "unreachable", "other-cell w7", "strange"].map((gate) => gateFaultOf({ gate }));
  assert.deepEqual(
    texts.map((fault) => fault?.state),
    ["gate missing", "gate unreachable", "gate wrong", "gate wrong"],
  );
  assert.match(texts[0]?.remark ?? "", /any pod can be deleted/);
  assert.match(texts[1]?.remark ?? "", /deletions of pods are refused/);
  assert.match(texts[2]?.remark ?? "", /for another cell: w7/);
  // As aggregators write it.
  assert.match(
    gateFaultOf({ gate: "other-cell" })?.remark ?? "",
    /another cell: see the end of the URL in its webhook/,
  );
  assert.equal(gateFaultOf({ gate: undefined }), undefined);
});
