/** The sync-time algorithms of upstream, in an aggregator between two clusters. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatMicroTime, parseTime } from "../../../../src/api/micro-time.ts";
import { createSyncTime, type SyncTimeAlgorithm } from "../../../../src/accounting/settle/sync-time.ts";
import { builtInResources as types } from "../../../double/engine/resources.ts";
import { type Rig, rigFor, type Running } from "../rig.ts";

const key = "example.com/written";
const algorithms: readonly SyncTimeAlgorithm[] = [
  { kind: "clock" },
  { kind: "status" },
  { kind: "managed-fields" },
  { kind: "annotation", key },
];
const fenceOrBarrier = /^(PATCH .*\/pods\/\w+\/status|GET \/api\/v1\/pods)$/;

/** Two Ready pods a and b that are counted, and a pod z that no protector counts. */
async function counted(rig: Rig, algorithm: SyncTimeAlgorithm): Promise<Running> {
  await rig.protect("web");
  for (const name of ["a", "b"]) await rig.pod(name);
  await rig.pod("z", { labels: {} });
  const running = await rig.start({ config: { syncTime: createSyncTime(algorithm) } });
  await rig.after(65_000, { available: 2 });
  running.worker.log = [];
  return running;
}

/**
 * Writes the pod as a kubelet does, with the time of the write in its condition and in the annotation of a patched API
 * server.
 */
async function write(rig: Rig, pod: string): Promise<void> {
  await rig.setReady(pod, true);
  const body = { metadata: { annotations: { [key]: formatMicroTime(rig.clock.epochMicros()) } } };
  await rig.workerEngine.patch(types.pods, "default", pod, { contentType: "application/merge-patch+json", body });
}

for (const algorithm of algorithms) {
  const { kind } = algorithm;

  test(`${kind}: an admission is forgotten at the first event of a later time, and never without one`, async (t) => {
    const rig = await rigFor(t);
    const { worker, metrics, podInformer } = await counted(rig, algorithm);
    await rig.admit("web", "a");
    await rig.clock.advance(150_000);
    podInformer.relist();
    await rig.after(150_000, { buckets: 1 }, "bookmarks and a relist that brings nothing move no time");
    assert.equal(worker.count(fenceOrBarrier), 0);
    await write(rig, "z");
    const writtenAt = rig.clock.epochMicros();
    await rig.after(1000, { buckets: 0 });
    assert.equal(metrics.value("aggregator_settled_total", { reason: "event-time" }), 1);
    const covered = parseTime(rig.cell("web")?.aggregation?.lastEventTime);
    assert.ok(covered !== undefined && Math.abs(covered - writtenAt) <= 1_000_000);
  });

  const end = kind === "clock" ? "forgotten" : "kept";
  test(`${kind}: an admission whose deletion the lagging watch has not delivered is ${end}`, async (t) => {
    const rig = await rigFor(t);
    const { worker } = await counted(rig, algorithm);
    worker.lagMs = 20_000;
    await write(rig, "z");
    await rig.clock.advance(10_000);
    await rig.admit("web", "a");
    await rig.removePod("a");
    await write(rig, "b");
    await rig.after(15_000, { available: 2 }, "the deletion has not been seen");
    assert.equal(rig.buckets("web").length, kind === "clock" ? 0 : 1);
    await rig.clock.advance(10_000);
    await write(rig, "z");
    await rig.after(22_000, { available: 1, buckets: 0 });
  });
}

test("status: a graceful deletion proves the time of its request, not the end of its grace period", async (t) => {
  const rig = await rigFor(t);
  await counted(rig, { kind: "status" });
  rig.workerEngine.bind("default", "a", "node-1");
  await rig.clock.advance(5000);
  await rig.workerEngine.delete(types.pods, "default", "a", { gracePeriodSeconds: 30 });
  await rig.clock.advance(2000);
  await rig.admit("web", "b");
  await rig.clock.advance(1000);
  await rig.relabel("a", { app: "web", other: "label" });
  await rig.after(60_000, { buckets: 1 });
});

test("clock: an empty list is an event, so that a cell that has lost its pods gives the quota back", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  await rig.addBucket("web", { podUID: "of a former life" });
  await rig.clock.advance(1000);
  await rig.start({ config: { syncTime: createSyncTime({ kind: "clock" }) } });
  await rig.after(65_000, { buckets: 0 });
});

test("annotation: without a stamped pod nothing is forgotten, and pods are counted anyway", async (t) => {
  const rig = await rigFor(t);
  await counted(rig, { kind: "annotation", key });
  await rig.admit("web", "a");
  await rig.removePod("a");
  await rig.after(100_000, { available: 1, buckets: 1 });
  assert.equal(rig.cell("web")?.aggregation?.lastEventTime, undefined);
});
