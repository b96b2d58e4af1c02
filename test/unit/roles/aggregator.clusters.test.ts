import assert from "node:assert/strict";
import { test } from "node:test";
import { cellLeaseAnnotations, cellLeaseName, readCellLease } from "../../../src/api/cell-lease.ts";
import { createAggregator } from "../../../src/roles/aggregator.ts";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { type Engine } from "../../double/index.ts";
import { builtInResources as types } from "../../double/engine/resources.ts";
import { cellID, type Rig, rigFor } from "../aggregator/rig.ts";
import { createEngineRuntime, type EngineRuntime } from "./engine-runtime.ts";

const argv = ["--role=aggregator", `--aggregator-cell-id=${cellID}`];
const claim = "aggregator-worker/cell-claim";

interface Cluster {
  readonly engine: Engine;
  readonly runtime: EngineRuntime;
  readonly stop: () => Promise<void>;
}

/** A worker cluster of its own, whose aggregator has started. */
async function clusterOf(rig: Rig, seed: number, pods: number, process = seed): Promise<Cluster> {
  const engine = rig.newEngine(seed);
  await engine.bootstrap();
  rig.workerEngine = engine;
  for (let pod = 0; pod < pods; pod++) await rig.pod(`pod-${pod}`);
  return await joined(rig, engine, process);
}

async function joined(rig: Rig, engine: Engine, seed: number): Promise<Cluster> {
  rig.workerEngine = engine;
  const runtime = createEngineRuntime(rig, argv, seed);
  return { engine, runtime, stop: await rig.run(createAggregator(runtime)) };
}

const leaseOf = (rig: Rig) => readCellLease(rig.coreEngine.get(types.leases, "default", cellLeaseName(cellID)));
const uidOf = ({ engine }: Cluster): string => engine.get(types.namespaces, undefined, "kube-system").metadata.uid;

test("a second cluster under the name of a cell counts nothing while the first one beats, and says so", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  const first = await clusterOf(rig, 21, 3);
  await rig.clock.advance(30_000);
  const second = await clusterOf(rig, 22, 5);
  await rig.after(600_000, { available: 3 });
  assert.equal(second.runtime.core.count(/^PUT/), 0);
  assert.equal(leaseOf(rig)?.clusterUID, uidOf(first));
  const answer = second.runtime.health.answerOne(claim);
  assert.equal(answer.status, 500);
  assert.match(answer.text, /another cluster holds its Lease/);
  assert.equal(first.runtime.health.answerOne(claim).status, 200);
  const events = rig.coreEngine.list(types.events, "default").items;
  assert.ok(events.some((event) => event["reason"] === "CellHeldByOtherCluster"));
});

test("a cluster rebuilt under its old name takes over after three silent minutes, with a recount", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  const first = await clusterOf(rig, 21, 3);
  await rig.noise(first.engine, 50);
  await rig.pod("late");
  await rig.clock.advance(30_000);
  await first.stop();
  assert.equal(rig.available("web"), 4);
  const second = await clusterOf(rig, 22, 2);
  await rig.after(170_000, { available: 4 });
  await rig.after(30_000, { available: 2 });
  assert.notEqual(rig.cell("web")?.aggregation?.recountedAt, undefined);
  assert.equal(leaseOf(rig)?.clusterUID, uidOf(second));
  assert.equal(second.runtime.health.answerOne(claim).status, 200);
});

test("counts of the former cluster are replaced by a recount, also equal ones of a lower version", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  const first = await clusterOf(rig, 21, 2);
  await rig.clock.advance(30_000);
  await first.stop();
  const before = rig.cell("web")?.aggregation;
  const engine = rig.newEngine(22);
  await engine.bootstrap();
  await rig.noise(engine, 100);
  rig.workerEngine = engine;
  for (const name of ["a", "b"]) await rig.pod(name);
  await joined(rig, engine, 22);
  await rig.clock.advance(220_000);
  const after = rig.cell("web")?.aggregation;
  assert.equal(after?.availableReplicas, before?.availableReplicas);
  assert.ok(Number(after?.resourceVersion) > Number(before?.resourceVersion));
  assert.notEqual(after?.recountedAt, undefined);
});

test("a person hands a cell over at once, and the former cluster stops counting", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  const first = await clusterOf(rig, 21, 3);
  await rig.clock.advance(30_000);
  const second = await clusterOf(rig, 22, 5);
  await rig.clock.advance(30_000);
  const body = { metadata: { annotations: { [cellLeaseAnnotations.adopt]: uidOf(second) } } };
  const patch = { contentType: "application/merge-patch+json", body };
  await rig.coreEngine.patch(types.leases, "default", cellLeaseName(cellID), patch);
  await rig.after(45_000, { available: 5 });
  assert.equal(leaseOf(rig)?.clusterUID, uidOf(second));
  assert.equal(leaseOf(rig)?.adopt, undefined);
  assert.equal(first.runtime.health.answerOne(claim).status, 500);
  const written = first.runtime.core.count(/^PUT/);
  await rig.clock.advance(300_000);
  assert.equal(first.runtime.core.count(/^PUT/), written);
});

test("of two clones with the same UID the newcomer yields within a minute", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  const first = await clusterOf(rig, 21, 3);
  await rig.clock.advance(30_000);
  const clone = await clusterOf(rig, 21, 4, 99);
  assert.equal(uidOf(clone), uidOf(first));
  await rig.clock.advance(120_000);
  assert.equal(clone.runtime.health.answerOne(claim).status, 500);
  assert.equal(first.runtime.health.answerOne(claim).status, 200);
  const written = clone.runtime.core.count(/^PUT/);
  await rig.clock.advance(120_000);
  assert.equal(clone.runtime.core.count(/^PUT/), written);
});

test("without the right to read kube-system the cell is counted, and that is said in a metric", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  await rig.pod("a");
  const runtime = createEngineRuntime(rig, argv);
  runtime.worker.onRequest = ({ path }) =>
    path.endsWith("/namespaces/kube-system") ? new KubeError("forbidden", "no") : undefined;
  await rig.run(createAggregator(runtime));
  await rig.after(10_000, { available: 1 });
  assert.equal(leaseOf(rig)?.clusterUID, undefined);
  assert.equal(runtime.metrics.value("aggregator_cluster_unknown_total"), 1);
});

test("while the Lease cannot be read a new leader waits, and counts as soon as it can", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  await rig.pod("a");
  const runtime = createEngineRuntime(rig, argv);
  runtime.coreHeartbeat.onRequest = () => new KubeError("serverError", "busy");
  await rig.run(createAggregator(runtime));
  await rig.clock.advance(60_000);
  assert.equal(rig.available("web"), undefined);
  const waits = { core: "core", reason: "lease-unreadable" };
  assert.equal(runtime.metrics.value("aggregator_heartbeat_silence", waits), 1);
  runtime.coreHeartbeat.onRequest = () => undefined;
  await rig.after(5000, { available: 1 });
  assert.equal(runtime.metrics.value("aggregator_heartbeat_silence", waits), 0);
});

test("two cells of one worker cluster are both counted, each with a leader of its own", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  await rig.pod("a", { labels: { app: "web", part: "one" } });
  await rig.pod("b", { labels: { app: "web", part: "two" } });
  await rig.pod("c", { labels: { app: "web", part: "two" } });
  for (const [index, part] of ["one", "two"].entries()) {
    const runtime = createEngineRuntime(
      rig,
      [
        "--role=aggregator",
        `--aggregator-cell-id=${part}`,
        `--aggregator-pod-label-selector=part=${part}`,
        "--update-trigger-enable=false",
      ],
      index + 1,
    );
    await rig.run(createAggregator(runtime));
  }
  await rig.clock.advance(100_000);
  const counts = rig
    .protector("web")
    .status?.cells.map(({ cellID: cell, aggregation }) => [cell, aggregation?.availableReplicas]);
  assert.deepEqual(counts?.toSorted(), [
    ["one", 1],
    ["two", 2],
  ]);
});
