/** The sync-time algorithms of upstream, in an aggregator between two clusters. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatMicroTime, parseTime } from "../../../../src/api/micro-time.ts";
import { createSyncTime, type SyncTimeAlgorithm } from "../../../../src/accounting/settle/sync-time.ts";
import { builtInResources as types } from "../../../double/engine/resources.ts";
import { type Rig, type Running, withRig } from "../rig.ts";

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
  await rig.clock.advance(65_000);
  assert.equal(rig.available("web"), 2);
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

  test(`${kind}: an admission is forgotten at the first event of a later time, and never without one`, () =>
    withRig(async (rig) => {
      const { worker, metrics, podInformer } = await counted(rig, algorithm);
      await rig.admit("web", "a");
      await rig.clock.advance(150_000);
      podInformer.relist();
      await rig.clock.advance(150_000);
      assert.equal(rig.buckets("web").length, 1, "bookmarks and a relist that brings nothing move no time");
      assert.equal(worker.count(fenceOrBarrier), 0);
      await write(rig, "z");
      const writtenAt = rig.clock.epochMicros();
      await rig.clock.advance(1000);
      assert.deepEqual(rig.buckets("web"), []);
      assert.equal(metrics.value("aggregator_settled_total", { reason: "event-time" }), 1);
      const covered = parseTime(rig.cell("web")?.aggregation?.lastEventTime);
      assert.ok(covered !== undefined && Math.abs(covered - writtenAt) <= 1_000_000);
    }));

  const end = kind === "clock" ? "forgotten" : "kept";
  test(`${kind}: an admission whose deletion the lagging watch has not delivered is ${end}`, () =>
    withRig(async (rig) => {
      const { worker } = await counted(rig, algorithm);
      worker.lagMs = 20_000;
      await write(rig, "z");
      await rig.clock.advance(10_000);
      await rig.admit("web", "a");
      await rig.removePod("a");
      await write(rig, "b");
      await rig.clock.advance(15_000);
      assert.equal(rig.available("web"), 2, "the deletion has not been seen");
      assert.equal(rig.buckets("web").length, kind === "clock" ? 0 : 1);
      await rig.clock.advance(10_000);
      await write(rig, "z");
      await rig.clock.advance(22_000);
      assert.equal(rig.available("web"), 1);
      assert.deepEqual(rig.buckets("web"), []);
    }));
}

test("status: a graceful deletion proves the time of its request, not the end of its grace period", () =>
  withRig(async (rig) => {
    await counted(rig, { kind: "status" });
    rig.workerEngine.bind("default", "a", "node-1");
    await rig.clock.advance(5000);
    await rig.workerEngine.delete(types.pods, "default", "a", { gracePeriodSeconds: 30 });
    await rig.clock.advance(2000);
    await rig.admit("web", "b");
    await rig.clock.advance(1000);
    await rig.relabel("a", { app: "web", other: "label" });
    await rig.clock.advance(60_000);
    assert.equal(rig.buckets("web").length, 1);
  }));

test("clock: an empty list is an event, so that a cell that has lost its pods gives the quota back", () =>
  withRig(async (rig) => {
    await rig.protect("web");
    await rig.addBucket("web", { podUID: "of a former life" });
    await rig.clock.advance(1000);
    await rig.start({ config: { syncTime: createSyncTime({ kind: "clock" }) } });
    await rig.clock.advance(65_000);
    assert.deepEqual(rig.buckets("web"), []);
  }));

test("annotation: without a stamped pod nothing is forgotten, and pods are counted anyway", () =>
  withRig(async (rig) => {
    await counted(rig, { kind: "annotation", key });
    await rig.admit("web", "a");
    await rig.removePod("a");
    await rig.clock.advance(100_000);
    assert.equal(rig.available("web"), 1);
    assert.equal(rig.buckets("web").length, 1);
    assert.equal(rig.cell("web")?.aggregation?.lastEventTime, undefined);
  }));
