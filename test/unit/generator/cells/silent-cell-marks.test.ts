import assert from "node:assert/strict";
import { test } from "node:test";
import { cellLeaseAnnotations } from "../../../../src/api/cell-lease.ts";
import { epochMicrosOf, readMicroTime } from "../../../../src/api/micro-time.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { type JsonObject } from "../../../double/index.ts";
import { BeatingCells, leaseEvents, silentAfterMs } from "../beating-cells.ts";
import { createCore, type Core, type GeneratorProcess } from "../core-cluster.ts";

async function start(
  options: Parameters<Core["startGenerator"]>[1] = {},
): Promise<{ core: Core; cells: BeatingCells; generator: GeneratorProcess }> {
  const core = await createCore();
  const cells = new BeatingCells(core);
  await cells.start("a", "b");
  const generator = core.startGenerator({}, options);
  await generator.ready();
  return { core, cells, generator };
}
const renewTime = (cells: BeatingCells): unknown => cells.observer()?.spec?.["renewTime"];

test("a silent cell is marked with the time of its last beat, once, and the next beat clears the mark", async () => {
  const { core, cells, generator } = await start();
  await cells.advance(60_000);
  cells.stop("b");
  const stoppedAt = core.clock.epochMicros();
  await cells.advance(silentAfterMs - 20_000);
  assert.equal(cells.mark("b"), undefined, "the time has not passed");
  assert.deepEqual(leaseEvents(core), []);
  await cells.advance(60_000);
  const mark = readMicroTime(cells.mark("b") ?? "");
  assert.ok(mark !== undefined);
  // A beat is seen by the next LIST, at most 15 s later.
  assert.ok(Math.abs(epochMicrosOf(mark) - stoppedAt) <= 16_000_000, mark);
  assert.equal(cells.mark("a"), undefined);
  assert.deepEqual(leaseEvents(core), ["CellSilent"]);
  assert.equal(generator.gauge("generator_silent_cells"), 1);
  await cells.advance(600_000);
  assert.equal(cells.mark("b"), mark);
  assert.deepEqual(leaseEvents(core), ["CellSilent"], "told once");

  await cells.start("b");
  await cells.advance(30_000);
  assert.equal(cells.mark("b"), undefined);
  assert.deepEqual(leaseEvents(core), ["CellSilent", "CellHeard"]);
  assert.equal(generator.gauge("generator_silent_cells"), 0);
});

test("a mark never meets a Lease that has beaten since it was read", async () => {
  const { cells, generator } = await start();
  cells.stop("b");
  generator.client.onRequest = async ({ method, path }) => {
    if (method === "PATCH" && path.includes("/leases/cell-")) await cells.beat("b");
    return undefined;
  };
  await cells.advance(silentAfterMs + 60_000);
  assert.equal(cells.mark("b"), undefined);
});

test("a silent cell is marked under the policy keep and keep-until too: other observers may have zero", async () => {
  const { cells } = await start({ silentPolicy: "keep" });
  await cells.annotate("b", "keepUntil", "2099-01-01T00:00:00Z");
  cells.stop("a");
  cells.stop("b");
  await cells.advance(silentAfterMs + 60_000);
  assert.notEqual(cells.mark("a"), undefined);
  assert.notEqual(cells.mark("b"), undefined);
});

test("the Lease of the generator beats after each LIST of the leader, and never of a standby", async () => {
  const { core, cells, generator } = await start();
  await cells.advance(20_000);
  const first = renewTime(cells);
  assert.equal(cells.observer()?.spec?.["holderIdentity"], "generator-1");
  await cells.advance(20_000);
  assert.notEqual(renewTime(cells), first);
  generator.loseLeadership();
  const standby = core.startGenerator({}, { standby: true });
  await standby.ready();
  const last = renewTime(cells);
  cells.stop("b");
  await cells.advance(silentAfterMs + 60_000);
  assert.equal(renewTime(cells), last);
  assert.equal(cells.mark("b"), undefined);
  assert.equal(standby.gauge("generator_silent_cells"), 0);
  // It has observed all the time.
  await standby.lead();
  await cells.advance(20_000);
  assert.notEqual(cells.mark("b"), undefined);
  assert.equal(cells.observer()?.spec?.["holderIdentity"], "generator-2");
});

test("a process that starts in an outage marks only what it has watched for the whole time", async () => {
  const core = await createCore();
  const cells = new BeatingCells(core);
  await cells.start("a");
  cells.stop("a");
  const generator = core.startGenerator();
  await generator.ready();
  await cells.advance(silentAfterMs - 20_000);
  assert.equal(cells.mark("a"), undefined);
  await cells.advance(40_000);
  assert.notEqual(cells.mark("a"), undefined);
});

test("while a mark cannot be written the generator's Lease does not beat", async () => {
  const { cells, generator } = await start();
  await cells.advance(20_000);
  const forbidden = new KubeError("forbidden", "no", { code: 403 });
  generator.client.onRequest = ({ method, path }) =>
    method === "PATCH" && path.includes("/leases/cell-") ? forbidden : undefined;
  cells.stop("b");
  await cells.advance(silentAfterMs + 30_000);
  const last = renewTime(cells);
  await cells.advance(120_000);
  assert.equal(renewTime(cells), last);
  assert.ok(generator.metrics.value("generator_cell_lease_write_failures_total", { error: "forbidden" }) > 1);
  const lines = generator.logger.messages().filter((line) => line.startsWith("Not allowed to write the Leases"));
  assert.equal(lines.length, 1);
});

test("two leaders at once write one mark", async () => {
  const { core, cells } = await start();
  const other = core.startGenerator();
  await other.ready();
  cells.stop("b");
  await cells.advance(silentAfterMs + 60_000);
  assert.notEqual(cells.mark("b"), undefined);
  assert.deepEqual(leaseEvents(core), ["CellSilent"]);
});

test("a cell that an aggregator without heartbeats counts is not marked, and a mark on it is taken back", async () => {
  const { core, cells } = await start();
  await core.createProtector("mine");
  const counts = (second: number, extensions: JsonObject) => {
    const lastEventTime = `2026-01-01T00:00:${second}.000000Z`;
    return [{ cellID: "b", aggregation: { totalReplicas: 3, availableReplicas: 3, lastEventTime, ...extensions } }];
  };
  await core.writeCells("mine", counts(10, { countedMinReadySeconds: 0 }));
  cells.stop("b");
  await cells.advance(silentAfterMs + 60_000);
  assert.notEqual(cells.mark("b"), undefined);
  await core.writeCells("mine", counts(11, {}));
  await cells.advance(30_000);
  assert.equal(cells.find("b")?.metadata.annotations?.[cellLeaseAnnotations.silentSince], undefined);
  await cells.advance(60_000);
  assert.equal(cells.mark("b"), undefined);
});
