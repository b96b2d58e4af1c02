import assert from "node:assert/strict";
import { test } from "node:test";
import { type OpenClusters } from "../../../../src/commands/clusters/open.ts";
import { readBudgets, readGuards, readPods, workerOf } from "../../../../src/commands/simulate/reads.ts";
import { Problem } from "../../../../src/config/reading/problem.ts";
import { createCellLease, createFleet, createProtector, type Fleet, forbid } from "../support/fleet.ts";
import { createPod } from "./pods-on-double.ts";

function clustersOf(fleet: Fleet, workers: readonly string[] = []): OpenClusters {
  const clientOf = (name: string) => fleet.clusters.get(name)!.client;
  return {
    cores: new Map([["core", clientOf("core")]]),
    workers: new Map(workers.map((name) => [name, clientOf(name)])),
    choice: {
      kubeconfig: undefined,
      cores: new Map(),
      workers: new Map(),
      namespace: undefined,
      leaseNamespace: "podseidon-system",
    },
    objectNamespace: "default",
    close: async () => {},
  };
}

function readsOf(fleet: Fleet) {
  const complaints: string[] = [];
  return {
    complaints,
    clock: fleet.clock,
    signal: fleet.stop.signal,
    complain: (line: string) => void complaints.push(line),
  };
}

test("the cell is the only worker's, or the one that is named; without workers the core has the pods", async () => {
  const fleet = await createFleet("w1", "w2");
  const named = new Map([["cell", ["w2"]]]);
  const cellOf = (options: ReadonlyMap<string, readonly string[]>, workers: readonly string[]): string => {
    const worker = workerOf(options, clustersOf(fleet, workers));
    return worker instanceof Problem ? worker.message : `${worker.cell} ${worker.client.cluster}`;
  };
  assert.equal(cellOf(new Map(), ["w1"]), "w1 w1");
  assert.equal(cellOf(named, ["w1", "w2"]), "w2 w2");
  assert.equal(cellOf(named, []), "w2 core");
  assert.match(cellOf(new Map(), ["w1", "w2"]), /^name the cell of the pods/);
  assert.match(cellOf(named, ["w1"]), /^no --worker=CELL=CONTEXT says which cluster has the pods of cell "w2"$/);
});

test("PodProtectors are read with the silence of their cells", async () => {
  const fleet = await createFleet();
  await createProtector(fleet.core, "web");
  await createCellLease(fleet.core, fleet.clock, "a");
  await createCellLease(fleet.core, fleet.clock, "b", { agoMs: 200_000 });
  const read = await readGuards(clustersOf(fleet), undefined, readsOf(fleet));
  assert(read.ok);
  const { protectors, silentForMs, now } = read.value;
  assert.deepEqual(
    protectors.map(({ id }) => id),
    ["core/shop/web"],
  );
  assert.equal(silentForMs("core", "a", "u"), undefined);
  assert.equal(silentForMs("core", "b", "u"), 200_000);
  assert.equal(silentForMs("core", "unknown", "u"), undefined);
  assert.equal(now, fleet.clock.epochMicros());
});

test("without the right to list Leases no cell is silent, which is said", async () => {
  const fleet = await createFleet();
  await createCellLease(fleet.core, fleet.clock, "b", { agoMs: 200_000 });
  forbid(fleet.core, /leases/);
  const reads = readsOf(fleet);
  const read = await readGuards(clustersOf(fleet), undefined, reads);
  assert(read.ok);
  assert.equal(read.value.silentForMs("core", "b", "u"), undefined);
  assert.match(reads.complaints.join(), /may not list leases.*; no cell is taken to be silent$/);
});

test("pods are read of one node, of one namespace, or with some labels", async () => {
  const fleet = await createFleet();
  await createPod(fleet.core, "web-1", "web");
  await createPod(fleet.core, "web-2", "web", { node: "node-2" });
  const worker = { cell: "a", client: fleet.core.client };
  const namesOf = async (at: Parameters<typeof readPods>[1]): Promise<readonly string[]> => {
    const read = await readPods(worker, at, fleet.stop.signal);
    return read.ok ? read.value.map(({ record }) => record.name) : [read.problem];
  };
  assert.deepEqual(await namesOf({ node: "node-2" }), ["web-2"]);
  assert.deepEqual(await namesOf({ node: "node-1", labelSelector: "app!=web" }), []);
  assert.deepEqual(await namesOf({ namespace: "shop" }), ["web-1", "web-2"]);
  assert.deepEqual(await namesOf({ namespace: "empty" }), []);
});

test("budgets that may not be listed are none, which is said", async () => {
  const fleet = await createFleet();
  forbid(fleet.core, /poddisruptionbudgets/);
  const reads = readsOf(fleet);
  assert.deepEqual(await readBudgets({ cell: "a", client: fleet.core.client }, reads), []);
  assert.equal(reads.complaints.length, 1);
});
