/** An object as large as etcd takes (docs/accounting.md#what-is-recorded). Webhooks leave room; others may not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type CellStatus } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { summarize } from "../../../../src/accounting/count/summary.ts";
import { single } from "../../accounting/samples.ts";
import { cellID, counted, type Rig, rigFor } from "../rig.ts";

const etcdBytesMax = 1.5 * 1024 * 1024;

/** Writes these cells, with the packed text of one more that leaves so much room. */
async function fill(rig: Rig, cells: readonly CellStatus[], roomBytes: number): Promise<void> {
  const protector = rig.protector("web");
  const write = async (digits: number): Promise<number> => {
    const filler: CellStatus = {
      cellID: "filler",
      admissionHistory: { buckets: [{ startTime: "", podUIDDigests: "A".repeat(digits) }] },
    };
    const all = [...cells, filler];
    const { resourceVersion } = rig.protector("web").metadata;
    const status = { cells: all, summary: summarize(all, protector.spec) };
    const body = { ...protector, metadata: { ...protector.metadata, resourceVersion }, status };
    await rig.coreEngine.update(rig.protectorType, "default", "web", body, { subresource: "status" });
    return JSON.stringify(rig.protector("web")).length;
  };
  const withoutFiller = await write(0);
  // Once more for managedFields and the version, which may be a little longer now.
  await write(etcdBytesMax - withoutFiller - roomBytes);
}

test("an aggregator settles in an object as large as etcd takes, because its write makes it smaller", async (t) => {
  const { rig } = await counted(t, { trigger: true });
  const { aggregation } = rig.cell("web") ?? {};
  assert.ok(aggregation !== undefined);
  const buckets = Array.from({ length: 700 }, (_, index) => single(`gone-${index}`, 1));
  await fill(rig, [{ cellID, aggregation, admissionHistory: { buckets } }], 60);
  await assert.rejects(rig.addBucket("web", single("one-more", 1)), /etcdserver: request is too large/);
  await rig.after(3_000, { buckets: 0, available: 3 });
});

test("counts without room in the object are tried again, count as failed, and are written with room", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  await fill(rig, [], 60);
  await rig.pod("a");
  const { metrics } = await rig.start({ trigger: true });
  await rig.clock.advance(65_000);
  assert.equal(rig.cell("web"), undefined);
  assert.ok(metrics.value("aggregator_status_write_total", { result: "failed" }) > 3);
  await fill(rig, [], 2_000);
  await rig.after(65_000, { available: 1 });
});
