import assert from "node:assert/strict";
import { test } from "node:test";
import { ghostWindowMs } from "../../../../src/generator/cells/leaving-cells.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { BeatingCells, silentAfterMs } from "../beating-cells.ts";
import { createCore, type Core } from "../core-cluster.ts";

const ghosts = [
  {
    cellID: "typo",
    admissionHistory: { buckets: [{ startTime: "2026-01-01T00:00:00.000000Z", podUID: "u-1" }] },
  },
];
const isLeaseList = ({ method, path }: { method: string; path: string }): boolean =>
  method === "GET" && path.endsWith("/leases");
function cellsOf(core: Core, name: string): number {
  return (core.protector(name)!.status!["cells"] as unknown[]).length;
}

test("a cell without counts that has a Lease is no ghost, and becomes one when its Lease goes", async () => {
  const core = await createCore();
  const cells = new BeatingCells(core);
  await cells.start("typo");
  await core.createProtector("mine");
  await core.writeCells("mine", ghosts);
  const generator = core.startGenerator();
  await generator.ready();
  await cells.advance(3 * ghostWindowMs);
  assert.equal(cellsOf(core, "mine"), 1);
  assert.equal(generator.gauge("generator_ghost_cells"), 0);
  cells.stop("typo");
  await cells.annotate("typo", "forget", "true");
  await cells.advance(2 * silentAfterMs);
  assert.equal(cells.find("typo"), undefined);
  assert.equal(cellsOf(core, "mine"), 0);
});

test("no ghost is removed while no Lease can be listed; without the right to it they count as absent", async () => {
  const core = await createCore();
  await core.createProtector("mine");
  await core.writeCells("mine", ghosts);
  const generator = core.startGenerator();
  generator.client.onRequest = (request) => (isLeaseList(request) ? "before" : undefined);
  await generator.ready();
  await core.clock.advance(3 * ghostWindowMs);
  assert.equal(cellsOf(core, "mine"), 1);
  const forbidden = new KubeError("forbidden", "no", { code: 403 });
  generator.client.onRequest = (request) => (isLeaseList(request) ? forbidden : undefined);
  // An API server that has just started forbids everything for a moment.
  await core.clock.advance(60_000);
  assert.equal(cellsOf(core, "mine"), 1);
  await core.clock.advance(silentAfterMs);
  assert.equal(cellsOf(core, "mine"), 0);
});

test("without any right to Leases nothing but Leases is affected, and the log stays short", async () => {
  const core = await createCore();
  await core.createDeployment("web");
  const generator = core.startGenerator();
  const forbidden = new KubeError("forbidden", "no", { code: 403 });
  generator.client.onRequest = ({ path }) => (path.includes("/leases") ? forbidden : undefined);
  await generator.ready();
  await core.clock.advance(10 * silentAfterMs);
  assert.notEqual(core.protector("deployment-web"), undefined);
  assert.equal(generator.logger.entries.filter(({ level }) => level === "warn").length, 1);
  assert.deepEqual(generator.errors(), []);
});
