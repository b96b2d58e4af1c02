/** Histories that go back: a restored core, a restored worker, a list from a server that lags. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { builtInResources as types } from "../../double/engine/resources.ts";
import { version } from "../accounting/samples.ts";
import { type Rig, rigFor, type Running } from "./rig.ts";

const statusWrite = /^PUT .*\/podprotectors\/web\/status$/;
const liveRead = /^GET .*\/podprotectors\/web$/;
const barrierList = /^GET \/api\/v1\/pods$/;
const historyResets = "aggregator_worker_history_reset_total";

async function counted(rig: Rig): Promise<Running> {
  await rig.protect("web");
  for (const name of ["a", "b", "c"]) await rig.pod(name);
  await rig.noise(rig.coreEngine, 50);
  await rig.noise(rig.workerEngine, 50);
  const running = await rig.start({ trigger: true });
  await rig.after(5000, { available: 3 });
  return running;
}

/** Puts the core back: the same object with the present status, in an older history, at `version` if that is given. */
async function restoreCore(rig: Rig, running: Running, version?: number): Promise<void> {
  const before = rig.protector("web");
  rig.coreEngine = await rig.newCore();
  await rig.protect("web");
  if (version !== undefined) await rig.noise(rig.coreEngine, version - rig.coreEngine.revision - 1);
  const { metadata } = rig.protector("web");
  const status = JSON.parse(JSON.stringify(before.status)) as unknown;
  await rig.coreEngine.update(
    rig.protectorType,
    "default",
    "web",
    { ...before, metadata, status },
    { subresource: "status" },
  );
  running.core.alias = { engine: metadata.uid, seen: before.metadata.uid };
  running.core.engine = rig.coreEngine;
}

/** Counts a fourth pod; its informer does not see that write. */
async function writeUnseen(rig: Rig, { core }: Running): Promise<void> {
  await rig.pod("d");
  core.lagMs = 600_000;
  await rig.after(1500, { available: 4 });
}

/** Restores the worker from an empty backup; pods that are created then belong to the new history. */
async function restoreWorker(rig: Rig, ...clients: Running[]): Promise<void> {
  rig.workerEngine = rig.newEngine(6);
  await rig.workerEngine.bootstrap();
  for (const { worker } of clients) worker.engine = rig.workerEngine;
}

test("after a core restore with equal counts nothing is written for a window, then once, in any case", async (t) => {
  const rig = await rigFor(t);
  const running = await counted(rig);
  const { core, logs } = running;
  await restoreCore(rig, running);
  const countedAt = rig.cell("web")?.aggregation?.countedAt;
  core.log = [];
  running.protectorInformer.relist();
  await rig.clock.advance(74_000);
  assert.equal(core.count(statusWrite), 0);
  assert.ok(logs.some(({ level, message }) => level === "error" && message.includes("the core was restored")));
  await rig.clock.advance(40_000);
  assert.equal(core.count(statusWrite), 1);
  assert.notEqual(rig.cell("web")?.aggregation?.countedAt, countedAt);
  assert.equal(rig.available("web"), 3);
  await rig.clock.advance(100_000);
  assert.equal(core.count(statusWrite), 1, "and then only for reasons");
});

test("a core restore that only a live read can show is detected at the relist", async (t) => {
  const rig = await rigFor(t);
  const running = await counted(rig);
  const { core } = running;
  // So the restored object looks newer than what the informer knows.
  await writeUnseen(rig, running);
  const seenByInformer = Number(rig.protector("web").metadata.resourceVersion) - 1;
  await restoreCore(rig, running);
  await rig.noise(rig.coreEngine, seenByInformer - rig.coreEngine.revision - 2);
  core.lagMs = 0;
  core.log = [];
  running.protectorInformer.relist();
  await rig.clock.advance(60_000);
  assert.ok(core.count(liveRead) >= 1);
  assert.equal(core.count(statusWrite), 0, "the window is waited for");
  await rig.clock.advance(60_000);
  assert.equal(core.count(statusWrite), 1);
});

test("a relist of PodProtectors is followed by one live read of each before anything is written", async (t) => {
  const rig = await rigFor(t);
  const { core } = await counted(rig);
  await rig.clock.advance(5000);
  rig.coreEngine.forgetHistory();
  await rig.noise(rig.coreEngine);
  rig.coreEngine.forgetHistory();
  core.log = [];
  core.dropWatches();
  await rig.clock.advance(10_000);
  assert.equal(core.count(liveRead), 1);
  await rig.removePod("a");
  await rig.after(2000, { available: 2 });
  assert.equal(core.count(liveRead), 1);
});

test("a list that only keeps the watch fresh costs no live read of what has not changed", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("quiet");
  await rig.protect("web");
  for (const name of ["a", "b", "c"]) await rig.pod(name);
  const { core, protectorInformer } = await rig.start({ trigger: true });
  await rig.clock.advance(5000);
  core.log = [];
  protectorInformer.relist({ isPaced: true });
  await rig.clock.advance(2000);
  assert.equal(core.count(/^GET .*\/podprotectors\/\w+$/), 0);
  // What an event has not delivered may have been more than one change.
  core.lagMs = 600_000;
  await rig.editSpec("web", { minAvailable: 2 });
  protectorInformer.relist({ isPaced: true });
  await rig.clock.advance(2000);
  assert.deepEqual(
    core.log.filter((what) => /^GET .*\/podprotectors\/\w+$/.test(what)),
    core.log.filter((what) => liveRead.test(what)),
  );
  assert.equal(core.count(liveRead), 1);
  await rig.removePod("a");
  await rig.after(2000, { available: 2 });
});

test("a list without our own last write leads to a live read, also where it only keeps the watch fresh", async (t) => {
  const rig = await rigFor(t);
  const running = await counted(rig);
  const { core } = running;
  await writeUnseen(rig, running);
  const { protectorInformer } = running;
  const seenByInformer = Number([...protectorInformer.values()][0]?.resourceVersion);
  await restoreCore(rig, running, seenByInformer);
  assert.equal(Number(rig.protector("web").metadata.resourceVersion), seenByInformer);
  core.lagMs = 0;
  core.log = [];
  protectorInformer.relist({ isPaced: true });
  await rig.clock.advance(60_000);
  assert.ok(core.count(liveRead) >= 1);
  assert.equal(core.count(statusWrite), 0, "the window is waited for");
});

test("a barrier below the snapshot is a worker reset: it is logged, waits start again, nothing settles", async (t) => {
  const rig = await rigFor(t);
  const running = await counted(rig);
  const { worker, logs, metrics } = running;
  // The old connection hangs, so the aggregator still believes in the old pods.
  await restoreWorker(rig, running);
  await rig.pod("z");
  const { uid } = rig.workerEngine.get(types.pods, "default", "z").metadata;
  // A pod that the old snapshot does not have and an eviction: "gone" needs a barrier, and any is above the new
  // versions.
  await rig.addBucket("web", { podUID: uid });
  await rig.clock.advance(3000);
  assert.equal(metrics.value(historyResets), 1);
  assert.ok(logs.some(({ level, message }) => level === "error" && message.includes("history was reset")));
  assert.equal(rig.buckets("web").length, 1);
  await rig.after(10_000, { buckets: 1 }, "z is alive and waits for its window");
  assert.equal(rig.available("web"), 1, "counted again in the new history");
  await rig.after(75_000, { buckets: 0 });
  assert.equal(metrics.value(historyResets), 1);
  assert.ok(worker.count(barrierList) < 10);
});

test("a worker reset that the informer meets first, by relisting, is detected as well", async (t) => {
  const rig = await rigFor(t);
  const running = await counted(rig);
  const { worker, metrics } = running;
  const { uid } = rig.workerEngine.get(types.pods, "default", "a").metadata;
  await rig.addBucket("web", { podUID: uid });
  await rig.clock.advance(70_000);
  await restoreWorker(rig, running);
  await rig.pod("z");
  const { uid: newUID } = rig.workerEngine.get(types.pods, "default", "z").metadata;
  await rig.addBucket("web", { podUID: newUID });
  worker.dropWatches();
  running.podInformer.relist();
  await rig.clock.advance(20_000);
  assert.equal(metrics.value(historyResets), 1);
  assert.equal(rig.available("web"), 1);
  assert.deepEqual(
    rig.buckets("web").map(({ podUID }) => podUID),
    [newUID],
    "a is gone by a barrier of the new history, z waits its whole window",
  );
  await rig.after(80_000, { buckets: 0 });
});

test("after a worker reset the new list is counted at once, although nothing else happens to its pods", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  for (const name of ["a", "b", "c"]) await rig.pod(name);
  await rig.noise(rig.workerEngine, 50);
  const running = await rig.start();
  await rig.after(65_000, { available: 3 });
  await restoreWorker(rig, running);
  await rig.pod("z");
  running.worker.dropWatches();
  running.podInformer.relist();
  // Leases and the like take the versions of lists further; of pods no event says so, only the bookmark of the next
  // minute.
  for (let halfSecond = 0; halfSecond < 12; halfSecond++) {
    await rig.clock.advance(500);
    await rig.noise(rig.workerEngine);
  }
  assert.equal(running.metrics.value(historyResets), 1);
  assert.equal(rig.available("web"), 1);
});

test("an aggregator that starts after a worker reset replaces the version recorded in former history", async (t) => {
  const rig = await rigFor(t);
  const before = await counted(rig);
  await before.stop();
  await restoreWorker(rig);
  await rig.pod("z");
  const { metrics, core } = await rig.start({ trigger: true, seed: 11 });
  await rig.after(30_000, { available: 1 });
  assert.equal(metrics.value(historyResets), 1);
  await rig.pod("y");
  await rig.after(1000, { available: 2 }, "and goes on as usual");
  assert.equal(core.count(statusWrite), 2);
});

test("a list from a lagging server is no reset: nothing is written or settled from it", async (t) => {
  const rig = await rigFor(t);
  // The engines draw the same UIDs, so that one is the other's past.
  const lagging = rig.newEngine();
  await lagging.bootstrap();
  const main = rig.workerEngine;
  for (const engine of [lagging, main]) {
    rig.workerEngine = engine;
    for (const name of ["a", "b", "c"]) await rig.pod(name);
  }
  await rig.protect("web");
  const running = await rig.start();
  const { worker, core, metrics } = running;
  await rig.after(65_000, { available: 3 });
  for (const name of ["d", "e"]) await rig.pod(name);
  await rig.after(1000, { available: 5 });
  const { uid } = rig.workerEngine.get(types.pods, "default", "d").metadata;
  worker.replica = { engine: lagging, pattern: /^WATCH / };
  core.log = [];
  running.podInformer.relist();
  // Alive, but absent from the lagging list: a barrier that was passed before the list must not settle it.
  await rig.addBucket("web", { podUID: uid });
  await rig.clock.advance(50_000);
  assert.equal(running.podInformer.size, 3);
  assert.equal(core.count(statusWrite), 0);
  assert.equal(rig.available("web"), 5);
  assert.equal(rig.buckets("web").length, 1);
  assert.equal(metrics.value(historyResets), 0);

  worker.replica = undefined;
  running.podInformer.relist();
  await rig.removePod("e");
  await rig.after(3000, { available: 4, buckets: 1 });
  assert.equal(metrics.value(historyResets), 0);
});

test("while the watch of pods is away nothing is counted: the snapshot may be of a former history", async (t) => {
  const rig = await rigFor(t);
  const { core, worker } = await counted(rig);
  await rig.clock.advance(60_000);
  worker.onRequest = (_, what) => (what.endsWith("/pods") ? new KubeError("serverError", "away") : undefined);
  worker.dropWatches();
  await rig.clock.advance(1_000);
  core.log = [];
  await rig.select("web", { matchLabels: { app: "api" } });
  await rig.addBucket("web", { podUID: "uid-nobody", podResourceVersion: version(1) });
  await rig.clock.advance(90_000);
  assert.equal(core.count(statusWrite), 0);
  worker.onRequest = () => undefined;
  await rig.clock.advance(70_000);
  assert.equal(rig.available("web"), 0);
});
