import assert from "node:assert/strict";
import { test } from "node:test";
import { type CellLease, cellLeaseAnnotations, readCellLease } from "../../../../src/api/cell-lease.ts";
import { CellLeaseWrites } from "../../../../src/generator/cells/cell-lease-writes.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { EngineClient } from "../../../support/engine-client.ts";
import { createCountingMetrics } from "../../kube/counting-metrics.ts";
import { createRecordingLogger } from "../../observability/recording-logger.ts";
import { BeatingCells } from "../beating-cells.ts";
import { createCore } from "../core-cluster.ts";

const { signal } = new AbortController();

async function bench() {
  const core = await createCore();
  const cells = new BeatingCells(core);
  await cells.beat("a");
  const client = new EngineClient("core", core.engine);
  const logger = createRecordingLogger();
  const metrics = createCountingMetrics();
  const writes = new CellLeaseWrites({
    core: client,
    namespace: "default",
    identity: "me",
    productVersion: "1.2.3 (abc)",
    silentAfterMs: 180_000,
    timeoutMs: 15_000,
    clock: core.clock,
    logger,
    failures: metrics.counter("failures", ""),
  });
  const read = (): CellLease => {
    const lease = readCellLease(cells.find("a"));
    assert.ok(lease !== undefined);
    return lease;
  };
  return { cells, client, logger, metrics, writes, read };
}

test("an annotation is set and removed, and neither is a beat", async () => {
  const { writes, read } = await bench();
  const { beat } = read();
  assert.equal(await writes.annotate(read(), cellLeaseAnnotations.forget, "true", signal), "written");
  assert.equal(read().isForgotten, true);
  assert.equal(await writes.annotate(read(), cellLeaseAnnotations.forget, null, signal), "written");
  assert.equal(read().isForgotten, false);
  assert.equal(read().beat, beat);
});

test("a write fails when the Lease has changed since it was read, or was made anew", async () => {
  const { cells, writes, read } = await bench();
  const before = read();
  await cells.annotate("a", "adopt", "u-1");
  assert.equal(await writes.annotate(before, cellLeaseAnnotations.forget, "true", signal), "changed");
  assert.equal(await writes.remove(before, signal), "changed");
  assert.equal(read().isForgotten, false);
  assert.equal(await writes.remove({ ...read(), uid: "another" }, signal), "changed");
  assert.equal(await writes.remove(read(), signal), "written");
  assert.equal(cells.find("a"), undefined);
  assert.equal(await writes.remove(before, signal), "changed");
});

test("the observer's Lease is created when it is missing, and each renewal differs on a standing clock", async () => {
  const { cells, writes } = await bench();
  const seen = new Set<unknown>();
  for (let count = 0; count < 3; count += 1) {
    assert.equal(await writes.renewObserver(signal), "written");
    seen.add(cells.observer()?.spec?.["renewTime"]);
  }
  assert.equal(seen.size, 3);
  assert.equal(cells.observer()?.spec?.["holderIdentity"], "me");
  assert.equal(readCellLease(cells.observer())?.cellID, undefined);
  assert.equal(readCellLease(cells.observer())?.productVersion, "1.2.3 (abc)");
});

test("failures are counted; a missing right is logged once", async () => {
  const { client, logger, metrics, writes, read } = await bench();
  const lease = read();
  client.onRequest = () => new KubeError("forbidden", "no", { code: 403 });
  for (let count = 0; count < 3; count += 1) assert.equal(await writes.remove(lease, signal), "failed");
  assert.equal(await writes.renewObserver(signal), "failed");
  assert.equal(metrics.value("failures", { error: "forbidden" }), 4);
  assert.equal(logger.entries.length, 1);
  client.onRequest = () => "before";
  assert.equal(await writes.annotate(lease, cellLeaseAnnotations.forget, null, signal), "failed");
  assert.equal(metrics.value("failures", { error: "network" }), 1);
  assert.equal(logger.entries.length, 2);
});

test("an outage is logged when it begins and when it is over", async () => {
  const { client, logger, writes, read } = await bench();
  const lease = read();
  client.onRequest = () => "before";
  for (let count = 0; count < 3; count += 1) assert.equal(await writes.renewObserver(signal), "failed");
  client.onRequest = () => undefined;
  assert.equal(await writes.annotate(lease, cellLeaseAnnotations.forget, null, signal), "written");
  assert.deepEqual(logger.messages(), [
    "Cannot write a Lease of a cell, retrying",
    "Leases of cells can be written again",
  ]);
});
