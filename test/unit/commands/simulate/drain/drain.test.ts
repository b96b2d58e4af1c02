import assert from "node:assert/strict";
import { test } from "node:test";
import { builtInResources } from "../../../../double/index.ts";
import {
  createCellLease,
  createFleet,
  createProtector,
  type Fleet,
  forbid,
  type TestCluster,
} from "../../support/fleet.ts";
import { createPod } from "../pods-on-double.ts";

const { nodes, podDisruptionBudgets } = builtInResources;

async function fleetOf(): Promise<{ readonly fleet: Fleet; readonly worker: TestCluster }> {
  const fleet = await createFleet("worker");
  const worker = fleet.clusters.get("worker")!;
  await worker.create(nodes, undefined, { apiVersion: "v1", kind: "Node", metadata: { name: "node-1" } });
  await createProtector(fleet.core, "web", { minAvailable: 2, cells: [{ cellID: "w1", available: 3 }] });
  await createCellLease(fleet.core, fleet.clock, "w1");
  for (const name of ["web-1", "web-2"]) await createPod(worker, name, "web");
  return { fleet, worker };
}

const drain = ["simulate", "drain", "node-1", "--worker=w1=worker"];

test("a drain is planned from the core's PodProtectors and the worker's pods, and nothing is written", async () => {
  const { fleet, worker } = await fleetOf();
  const { exitCode, stdout, stderr, problem } = await fleet.run(...drain);
  assert.equal(problem, undefined);
  assert.deepEqual(stderr, []);
  assert.equal(exitCode, 0);
  assert.match(stdout, /^core\/shop\/web +2 +1 +1 +1 +0 +2$/m);
  assert.match(stdout, /^The drain would end: 1 pod at once, 1 pod later\.$/m);
  assert.deepEqual([...fleet.core.client.writes, ...worker.client.writes], []);
});

test("a drain that would not end has exit code 1, and JSON says the same", async () => {
  const { fleet } = await fleetOf();
  await createPod(fleet.clusters.get("worker")!, "api-1", "api");
  await createProtector(fleet.core, "api", { minAvailable: 1, cells: [{ cellID: "w1", available: 1 }] });
  const { exitCode, stdout } = await fleet.run(...drain, "-o", "json");
  assert.equal(exitCode, 1);
  const document = JSON.parse(stdout);
  assert.equal(document.stuckAt, "node-1");
  assert.equal(document.obstacles[0].kind, "undrainable");
});

test("a drain of some of the pods is planned for these alone", async () => {
  const { fleet } = await fleetOf();
  const { stdout } = await fleet.run(...drain, "--pod-selector=app=other");
  assert.equal(stdout, "Drain of node-1 in cell w1: 0 pods to evict.\n");
});

test("a silent cell keeps its pods", async () => {
  const { fleet } = await fleetOf();
  await fleet.clock.advance(10 * 60_000);
  const { exitCode, stdout } = await fleet.run(...drain);
  assert.equal(exitCode, 1);
  assert.match(stdout, /nothing has been heard from the cell of the pod for\s+10 min/);
});

test("a PodDisruptionBudget that allows nothing is named", async () => {
  const { fleet, worker } = await fleetOf();
  const spec = { minAvailable: 2, selector: { matchLabels: { app: "web" } } };
  const metadata = { name: "web" };
  await worker.create(podDisruptionBudgets, "shop", {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata,
    spec,
  });
  const status = {
    observedGeneration: 1,
    disruptionsAllowed: 0,
    currentHealthy: 2,
    desiredHealthy: 2,
    expectedPods: 2,
  };
  const patch = { contentType: "application/merge-patch+json", body: { status } };
  await worker.engine.patch(podDisruptionBudgets, "shop", "web", patch, { subresource: "status" });
  const { exitCode, stdout } = await fleet.run(...drain);
  assert.equal(exitCode, 1);
  assert.match(stdout, /^PodDisruptionBudget shop\/web: it needs 2 healthy pods of 2, and has 2$/m);
});

test("a node that is not there, and a cell that nobody named, are said", async () => {
  const { fleet } = await fleetOf();
  const absent = await fleet.run("simulate", "drain", "node-9", "--worker=w1=worker");
  assert.deepEqual([absent.exitCode, absent.problem], [1, 'cell w1 has no node "node-9"']);
  const nameless = await fleet.run("simulate", "drain", "node-1");
  assert.equal(nameless.exitCode, 2);
  assert.match(nameless.problem ?? "", /^simulate drain: name the cell of the pods: --cell=CELL/);
});

test("missing rights are named: a plan needs PodProtectors and pods, and does without nodes and budgets", async () => {
  const { fleet, worker } = await fleetOf();
  forbid(worker, /\/nodes\/|poddisruptionbudgets/);
  const without = await fleet.run(...drain);
  assert.equal(without.exitCode, 0);
  assert.match(
    without.stderr.join("\n"),
    /list poddisruptionbudgets\.policy.*; PodDisruptionBudgets are not looked at$/,
  );
  forbid(worker, /\/pods/);
  const blind = await fleet.run(...drain);
  assert.deepEqual([blind.exitCode, /may not list pods; ask for the role view/.test(blind.problem ?? "")], [1, true]);
  forbid(fleet.core, /podprotectors/);
  assert.match((await fleet.run(...drain)).problem ?? "", /may not list podprotectors/);
});
