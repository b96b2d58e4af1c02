/** No busy loop, no endless wait, nothing left behind. */
import assert from "node:assert/strict";
import { type ResourceVersion } from "../../../src/api/resource-version.ts";
import { test } from "node:test";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { builtInResources as types } from "../../double/engine/resources.ts";
import { counted, type Rig, rigFor, type Running } from "./rig.ts";

const fencePatch = /^PATCH .*\/pods\/\w+\/status$/;
const barrierList = /^GET \/api\/v1\/pods$/;

interface Effort {
  readonly timers: number;
  readonly requests: number;
}

/** Timers and requests of the aggregator while `ms` pass. */
async function effort(rig: Rig, running: Running, ms: number): Promise<Effort> {
  const timersBefore = running.timersSet();
  const requestsBefore = running.core.log.length + running.worker.log.length;
  await rig.clock.advance(ms);
  return {
    timers: running.timersSet() - timersBefore,
    requests: running.core.log.length + running.worker.log.length - requestsBefore,
  };
}

test("with nothing to do an aggregator sets no timer and sends no request but its watches", async (t) => {
  const { rig, ...running } = await counted(t);
  await rig.clock.advance(10_000);
  const { timers, requests } = await effort(rig, running, 180_000);
  assert.equal(timers, 0);
  assert.equal(requests, 0);
});

test("buckets that wait for their window cost a handful of requests, including anonymous ones", async (t) => {
  const { rig, ...running } = await counted(t);
  const { uid } = rig.workerEngine.get(types.pods, "default", "a").metadata;
  await rig.addBucket("web", { podUID: uid });
  await rig.addBucket("web", { counter: 3 });
  await rig.addBucket("web", {
    podUID: "of a pod that nobody knows",
    podResourceVersion: "99999999999" as ResourceVersion,
  });
  await rig.addBucket("web", { podUID: "of an unknown pod", podResourceVersion: "99999999999" as ResourceVersion });
  await rig.noise(rig.workerEngine);
  const { timers, requests } = await effort(rig, running, 300_000);
  assert.ok(timers <= 30, `${timers} timers`);
  assert.ok(requests <= 20, `${requests} requests`);
  assert.deepEqual(rig.buckets("web"), []);
});

test("LISTs and fences that always fail are repeated seldom, and everything settles once they work", async (t) => {
  const { rig, ...running } = await counted(t, { trigger: true });
  const { worker } = running;
  const { uid } = rig.workerEngine.get(types.pods, "default", "b").metadata;
  worker.onRequest = (_, what) =>
    barrierList.test(what) || what.startsWith("PATCH") ? new KubeError("serverError", "down") : undefined;
  await rig.admit("web", "a");
  await rig.addBucket("web", { podUID: uid });
  await rig.addBucket("web", { counter: 2 });
  await rig.clock.advance(120_000);
  const { timers, requests } = await effort(rig, running, 60_000);
  assert.ok(requests <= 40, `${requests} requests a minute`);
  assert.ok(timers <= 100, `${timers} timers a minute`);
  worker.onRequest = () => undefined;
  await rig.after(120_000, { buckets: 0 });
});

test("a barrier that passes while a status write is under way wakes the protector that waits for it", async (t) => {
  const { rig, core, metrics } = await counted(t, { trigger: true });
  await rig.clock.advance(10_000);
  let release: (() => void) | undefined;
  core.onRequest = (request) =>
    request.method === "PUT" && release === undefined
      ? new Promise((resolve) => (release = () => resolve(undefined)))
      : undefined;
  // Counts change and a bucket of a pod that is gone asks for a barrier, in one pass.
  await rig.addBucket("web", { podUID: "gone" });
  await rig.protect("api");
  await rig.pod("p", { labels: { app: "api" } });
  await rig.pod("d");
  await rig.clock.advance(1100);
  assert.notEqual(release, undefined, "the write hangs");
  await rig.clock.advance(5000);
  assert.equal(rig.available("api"), 1, "another protector has had its barrier");
  release?.();
  await rig.after(3000, { buckets: 0 });
  assert.equal(metrics.value("aggregator_settled_total", { reason: "gone" }), 1);
});

test("a progress that comes while a status write is under way is not missed", async (t) => {
  const { rig, core, worker } = await counted(t);
  let release: (() => void) | undefined;
  core.onRequest = (request) =>
    request.method === "PUT" && release === undefined
      ? new Promise((resolve) => (release = () => resolve(undefined)))
      : undefined;
  worker.lagMs = 1200;
  // The deletion of a has been admitted at a version that the snapshot reaches during the write.
  await rig.pod("d");
  await rig.relabel("a", { another: "version" });
  await rig.admit("web", "a");
  await rig.removePod("a");
  worker.lagMs = 0;
  await rig.relabel("b", { another: "version" });
  await rig.clock.advance(2500);
  release?.();
  await rig.after(3000, { buckets: 0 });
});

test("when protectors and pods go, what was kept about them is freed", async (t) => {
  const { rig, aggregator } = await counted(t, { trigger: true });
  await rig.admit("web", "a");
  await rig.clock.advance(20_000);
  assert.equal(aggregator.sizes().fences, 1);
  await rig.addBucket("web", { counter: 1 });
  await rig.clock.advance(1000);
  await rig.coreEngine.delete(rig.protectorType, "default", "web");
  await rig.clock.advance(0);
  const { protectors, selectors, "next-event-pool": nextEventPool } = aggregator.sizes();
  assert.deepEqual({ protectors, selectors, nextEventPool }, { protectors: 0, selectors: 0, nextEventPool: 0 });
  await rig.clock.advance(400_000);
  await rig.protect("web");
  await rig.clock.advance(5000);
  assert.equal(aggregator.sizes().fences, 0, "fences are forgotten with time");
});

test("the number of pods whose kubelets are not heard is shown beside that of all", async (t) => {
  const { rig, aggregator } = await counted(t, {});
  const { pods: all, "unseen-pods": none } = aggregator.sizes();
  assert.deepEqual([all, none], [3, 0]);
  await rig.loseSight("a");
  await rig.clock.advance(1000);
  const { pods, "unseen-pods": unseen } = aggregator.sizes();
  assert.deepEqual([pods, unseen], [3, 1]);
});

test("pods that may not be fenced are tried again after some windows", async (t) => {
  const { rig, worker } = await counted(t, { trigger: true });
  worker.onRequest = (_, what) => (fencePatch.test(what) ? new KubeError("forbidden", "no") : undefined);
  await rig.admit("web", "a");
  await rig.after(100_000, { buckets: 0 });
  worker.onRequest = () => undefined;
  await rig.clock.advance(300_000);
  await rig.admit("web", "a");
  await rig.after(15_000, { buckets: 0 });
  assert.equal(worker.count(fencePatch), 2);
});

test("stopping ends everything: no timer is left, whatever was under way", async (t) => {
  for (const atMs of [0, 1, 400, 5000, 12_000, 12_020, 76_000]) {
    const { rig, worker } = await counted(t, { trigger: true });
    const { uid } = rig.workerEngine.get(types.pods, "default", "b").metadata;
    await rig.admit("web", "a");
    await rig.admit("web", "c");
    await rig.addBucket("web", { podUID: uid });
    if (atMs > 10_000) {
      worker.onRequest = (request, what) =>
        fencePatch.test(what) || barrierList.test(what)
          ? new Promise((resolve) =>
              request.signal?.addEventListener("abort", () => resolve(new KubeError("aborted", "aborted"))),
            )
          : undefined;
    }
    await rig.clock.advance(atMs);
    await rig.stop();
    await rig.clock.advance(0);
    assert.equal(rig.clock.pendingTimers, 0, `stopped after ${atMs} ms`);
  }
});

test("fences that were waiting when leadership ended are sent in the next term", async (t) => {
  const { rig, worker, lead, depose } = await counted(t, { trigger: true });
  for (const name of ["a", "b", "c"]) await rig.admit("web", name);
  worker.onRequest = async (_, what) => {
    if (fencePatch.test(what) && worker.count(fencePatch) === 1) void depose();
    return undefined;
  };
  await rig.clock.advance(15_000);
  assert.equal(worker.count(fencePatch), 1);
  worker.onRequest = () => undefined;
  lead();
  await rig.after(15_000, { buckets: 0 });
});

test("hundreds of protectors and buckets settle within the rate of fences", async (t) => {
  const rig = await rigFor(t);
  for (let index = 0; index < 60; index++) {
    await rig.protect(`p${index}`);
    for (let pod = 0; pod < 5; pod++) await rig.pod(`p${index}-${pod}`, { labels: { app: `p${index}` } });
  }
  const { worker } = await rig.start({ trigger: true });
  await rig.clock.advance(10_000);
  for (let index = 0; index < 60; index++) {
    for (let pod = 0; pod < 5; pod++) await rig.admit(`p${index}`, `p${index}-${pod}`);
  }
  await rig.clock.advance(10_000 + 5000 + (300 / 50) * 1000);
  for (let index = 0; index < 60; index++) assert.deepEqual(rig.buckets(`p${index}`), []);
  assert.equal(worker.count(/^PATCH .*\/status$/), 300);
});
