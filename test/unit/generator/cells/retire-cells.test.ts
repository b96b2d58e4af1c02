import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonObject } from "../../../double/index.ts";
import { BeatingCells, leaseEvents, silentAfterMs } from "../beating-cells.ts";
import { createCore, type Core, type GeneratorProcess } from "../core-cluster.ts";

/** By an aggregator without heartbeats, unless `countedMinReadySeconds` is set. */
const counted = (cellID: string, available: number, second = 0, extensions: JsonObject = {}): JsonObject => ({
  cellID,
  aggregation: {
    ...extensions,
    totalReplicas: available,
    availableReplicas: available,
    lastEventTime: `2026-01-01T00:00:0${second}.000000Z`,
  },
  admissionHistory: { buckets: [{ startTime: "2026-01-01T00:00:00.000000Z", podUID: "u-1" }] },
});

async function start(): Promise<{ core: Core; cells: BeatingCells; generator: GeneratorProcess }> {
  const core = await createCore();
  const cells = new BeatingCells(core);
  await cells.start("a", "old");
  const generator = core.startGenerator();
  await generator.ready();
  return { core, cells, generator };
}
async function createCounted(core: Core, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, index) => `mine-${index}`);
  for (const name of names) {
    await core.createProtector(name);
    await core.writeCells(name, [counted("a", 3), counted("old", 2, 0, { countedMinReadySeconds: 0 })]);
  }
  return names;
}
function cellsOf(core: Core, name: string): string[] {
  return (core.protector(name)!.status!["cells"] as { cellID: string }[]).map(({ cellID }) => cellID);
}

test("a retired cell leaves all PodProtectors, some at a time, and then its Lease goes", async () => {
  const { core, cells, generator } = await start();
  const names = await createCounted(core, 400);
  cells.stop("old");
  await cells.advance(silentAfterMs + 60_000);
  await cells.annotate("old", "forget", "true");
  await cells.advance(20_000);
  assert.equal(names.filter((name) => cellsOf(core, name).includes("old")).length, 250);
  assert.equal(generator.gauge("generator_retiring_cells"), 1);
  assert.notEqual(cells.find("old"), undefined);
  await cells.advance(60_000);
  assert.ok(names.every((name) => cellsOf(core, name).join() === "a"));
  assert.partialDeepStrictEqual(core.protector("mine-7")?.status?.["summary"], {
    totalReplicas: 3,
    aggregatedAvailableReplicas: 3,
    estimatedAvailableReplicas: 2,
  });
  assert.equal(cells.find("old"), undefined);
  assert.deepEqual(leaseEvents(core).toSorted(), ["CellRetired", "CellRetiring", "CellSilent"]);
  assert.equal(generator.metrics.value("generator_cells_removed_total", { reason: "retired" }), 400);
  assert.equal(generator.gauge("generator_retiring_cells"), 0);
  await generator.stop();
});

test("a cell that beats is refused: an Event says why, the request is taken off, and nothing is removed", async () => {
  const { core, cells, generator } = await start();
  const [name = ""] = await createCounted(core, 1);
  await cells.annotate("old", "forget", "true");
  await cells.advance(120_000);
  assert.deepEqual(leaseEvents(core), ["CellNotRetired"]);
  assert.equal(cells.find("old")?.metadata.annotations?.["podseidon.kubewharf.io/forget"], undefined);
  // The request does not lie in wait for an outage.
  cells.stop("old");
  await cells.advance(2 * silentAfterMs);
  assert.deepEqual(cellsOf(core, name), ["a", "old"]);
  assert.notEqual(cells.find("old"), undefined);
  await generator.stop();
});

test("for a cell without heartbeats a person creates the Lease; it goes when the cell has been retired", async () => {
  const { core, cells, generator } = await start();
  const [name = ""] = await createCounted(core, 1);
  await core.writeCells(name, [counted("a", 3), counted("go", 2)]);
  await cells.create("go", { "podseidon.kubewharf.io/forget": "true" });
  await cells.advance(silentAfterMs - 20_000);
  assert.deepEqual(cellsOf(core, name), ["a", "go"]);
  await cells.advance(60_000);
  assert.deepEqual(cellsOf(core, name), ["a"]);
  assert.equal(cells.find("go"), undefined);
  await generator.stop();
});

test("a cell that an aggregator without heartbeats counts is refused, and the Lease that asked goes", async () => {
  const { core, cells, generator } = await start();
  const [name = ""] = await createCounted(core, 1);
  await core.writeCells(name, [counted("a", 3), counted("go", 2)]);
  await cells.create("go", { "podseidon.kubewharf.io/forget": "true" });
  for (let second = 1; second <= 4; second += 1) {
    await cells.advance(20_000);
    await core.writeCells(name, [counted("a", 3), counted("go", 2, second)]);
  }
  await cells.advance(20_000);
  assert.deepEqual(leaseEvents(core), ["CellNotRetired"]);
  assert.equal(cells.find("go"), undefined);
  await cells.advance(2 * silentAfterMs);
  assert.deepEqual(cellsOf(core, name), ["a", "go"]);
  await generator.stop();
});

test("a new leader goes on with a retirement that the last one has begun", async () => {
  const { core, cells, generator } = await start();
  const names = await createCounted(core, 400);
  cells.stop("old");
  await cells.advance(silentAfterMs + 60_000);
  await cells.annotate("old", "forget", "true");
  await cells.advance(20_000);
  generator.kill();
  const next = core.startGenerator();
  await next.ready();
  await cells.advance(120_000);
  assert.ok(names.every((name) => cellsOf(core, name).join() === "a"));
  assert.equal(cells.find("old"), undefined);
  await next.stop();
});

test("an aggregator that comes back at the last moment keeps its Lease", async () => {
  const { cells, generator } = await start();
  cells.stop("old");
  await cells.advance(silentAfterMs + 60_000);
  generator.client.onRequest = async ({ method }) => {
    if (method === "DELETE") await cells.beat("old");
    return undefined;
  };
  await cells.annotate("old", "forget", "true");
  await cells.advance(20_000);
  assert.notEqual(cells.find("old"), undefined);
  await generator.stop();
});
