import assert from "node:assert/strict";
import { test } from "node:test";
import { parseTime } from "../../../../src/api/micro-time.ts";
import { compareResourceVersions, parseResourceVersion } from "../../../../src/api/resource-version.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { upstreamPodProtectorCrd } from "../../../double/index.ts";
import { builtInResources as types } from "../../../double/engine/resources.ts";
import { counted, rigFor } from "../rig.ts";

const statusWrite = /^PUT .*\/podprotectors\/web\/status$/;
const fencePatch = /^PATCH .*\/pods\/\w+\/status$/;
const barrierList = /^GET \/api\/v1\/pods$/;

test("a bucket settles with the write that counts its terminating pod out", async (t) => {
  const { rig, core } = await counted(t);
  rig.workerEngine.bind("default", "a", "node-1");
  await rig.clock.advance(2000);
  core.log = [];
  await rig.admit("web", "a");
  await rig.workerEngine.delete(types.pods, "default", "a");
  await rig.after(1000, { available: 2, buckets: 0 });
  assert.equal(core.count(statusWrite), 1);
});

test("a bucket settles when its pod is gone from a snapshot at or above the admitted version", async (t) => {
  const { rig, worker } = await counted(t);
  await rig.admit("web", "a");
  worker.lagMs = 3000;
  await rig.removePod("a");
  await rig.after(2900, { buckets: 1 }, "while the watch lags nothing is settled");
  await rig.after(1200, { buckets: 0, available: 2 });
});

test("a bucket settles when its pod is alive at a newer version", async (t) => {
  const { rig, worker } = await counted(t);
  await rig.admit("web", "a");
  await rig.relabel("a", { other: "label" });
  await rig.after(1000, { buckets: 0, available: 3 });
  assert.equal(worker.count(fencePatch), 0);
});

test("a bucket of a pod that stays alive is fenced after the delay and settles at the fenced version", async (t) => {
  const { rig, worker, metrics } = await counted(t);
  await rig.admit("web", "a");
  await rig.clock.advance(9900);
  assert.equal(worker.count(fencePatch), 0);
  await rig.clock.advance(3000);
  assert.equal(worker.count(fencePatch), 1);
  assert.deepEqual(rig.buckets("web"), []);
  assert.equal(metrics.value("aggregator_settled_total", { reason: "newer-version" }), 1);
});

test("a fence whose answer is lost proves nothing: it is sent again with a new value, and waits double", async (t) => {
  const { rig, worker } = await counted(t);
  const values = new Set<unknown>();
  const sentAtMs: number[] = [];
  worker.onRequest = (request, what) => {
    if (!fencePatch.test(what)) return undefined;
    const { metadata } = request.body as { metadata: { annotations: Record<string, string> } };
    values.add(metadata.annotations["podseidon.kubewharf.io/fence"]);
    sentAtMs.push(rig.clock.monotonicMs());
    return "before";
  };
  await rig.admit("web", "a");
  await rig.clock.advance(300_000);
  const gaps = sentAtMs.slice(1).map((at, index) => Math.round((at - sentAtMs[index]!) / 1000));
  assert.deepEqual(gaps.slice(0, 4), [10, 20, 40, 75]);
  assert.equal(values.size, sentAtMs.length, "each value is new");
  assert.equal(rig.buckets("web").length, 1);
  worker.onRequest = () => undefined;
  await rig.after(80_000, { buckets: 0 });
});

test("where fencing is forbidden the bucket settles by the window and a barrier sent after it", async (t) => {
  const { rig, worker } = await counted(t, { trigger: true });
  worker.onRequest = (_, what) => (fencePatch.test(what) ? new KubeError("forbidden", "no") : undefined);
  await rig.admit("web", "a");
  await rig.after(74_900, { buckets: 1 });
  await rig.after(5000, { buckets: 0 });
  assert.equal(worker.count(fencePatch), 1);
});

test("where an admission plug-in refuses or strips fences, buckets settle by the window instead", async (t) => {
  for (const isStripped of [false, true]) {
    const { rig, worker } = await counted(t, { trigger: true });
    worker.onRequest = (request, what) => {
      if (!fencePatch.test(what)) return undefined;
      if (!isStripped) return new KubeError("invalid", "denied by a policy");
      // Nothing is left of the patch, and the API server answers 200 with the pod as it was.
      const { metadata } = request.body as { metadata: { annotations?: object } };
      delete metadata.annotations;
      return undefined;
    };
    await rig.admit("web", "a");
    await rig.after(74_900, { buckets: 1 });
    await rig.after(5000, { buckets: 0 });
  }
});

test("an eviction's bucket settles by the window, with one barrier", async (t) => {
  const { rig, worker, metrics } = await counted(t, { trigger: true });
  const { uid } = rig.workerEngine.get(types.pods, "default", "a").metadata;
  await rig.addBucket("web", { podUID: uid });
  await rig.after(74_900, { buckets: 1 });
  await rig.after(3000, { buckets: 0 });
  assert.equal(metrics.value("aggregator_settled_total", { reason: "window" }), 1);
  assert.equal(worker.count(fencePatch), 0);
  assert.ok(worker.count(barrierList) <= 2, `${worker.count(barrierList)} barriers`);
});

test("buckets that Go compacted settle by the window", async (t) => {
  const { rig } = await counted(t, { trigger: true });
  await rig.addBucket("web", { counter: 7 });
  await rig.after(74_000, { buckets: 1 });
  await rig.after(5000, { buckets: 0 });
});

test("a repeated review restarts the wait", async (t) => {
  const { rig, worker } = await counted(t, { trigger: true });
  const { uid } = rig.workerEngine.get(types.pods, "default", "a").metadata;
  await rig.addBucket("web", { podUID: uid });
  await rig.clock.advance(74_000);
  await rig.editCell("web", (cell) => ({ ...cell, admissionHistory: {} }));
  await rig.addBucket("web", { podUID: uid });
  await rig.after(74_000, { buckets: 1 });
  await rig.after(5000, { buckets: 0 });
  assert.equal(worker.count(fencePatch), 0);
});

test("a pod that claims a time of the far future stops nothing", async (t) => {
  const { rig } = await counted(t);
  const times = { "podseidon.kubewharf.io/update-trigger-time": "9999-12-31T23:59:59-23:59" };
  const body = { metadata: { annotations: times } };
  await rig.workerEngine.patch(types.pods, "default", "a", { contentType: "application/merge-patch+json", body });
  await rig.removePod("b");
  await rig.after(2000, { available: 2 });
  const covered = parseTime(rig.cell("web")?.aggregation?.lastEventTime);
  assert.ok(covered !== undefined && covered <= rig.clock.epochMicros());
});

test("a conflict is answered by a live GET and a retry at once", async (t) => {
  const { rig, core, metrics } = await counted(t);
  let raced = false;
  core.onRequest = async (_, what) => {
    if (!raced && statusWrite.test(what)) {
      raced = true;
      core.lagMs = 60_000;
      await rig.admit("web", "b");
    }
    return undefined;
  };
  await rig.removePod("a");
  await rig.after(1150, { available: 2, buckets: 1 }, "the bucket of the other writer is kept");
  assert.deepEqual(
    core.log.map((line) => line.slice(0, 3)),
    ["PUT", "GET", "PUT"],
  );
  assert.equal(metrics.value("aggregator_status_write_total", { result: "conflict" }), 1);
});

test("a write whose answer was lost is read again, and not written twice", async (t) => {
  const { rig, core, metrics } = await counted(t);
  core.onRequest = (_, what) => (statusWrite.test(what) && core.count(statusWrite) === 1 ? "after" : undefined);
  await rig.removePod("a");
  await rig.after(5000, { available: 2 });
  assert.deepEqual(
    core.log.map((line) => line.slice(0, 3)),
    ["PUT", "GET"],
  );
  assert.equal(metrics.value("aggregator_status_write_total", { result: "written" }), 1, "that of the first counts");
});

test("a write that never arrived is not taken for written", async (t) => {
  const { rig, core } = await counted(t);
  core.onRequest = (_, what) => (statusWrite.test(what) && core.count(statusWrite) === 1 ? "before" : undefined);
  await rig.removePod("a");
  await rig.after(1500, { available: 2 });
  assert.equal(core.count(statusWrite), 2);
});

test("an own write is the base of the next one, however late the informer is", async (t) => {
  const { rig, core, metrics } = await counted(t);
  core.lagMs = 120_000;
  for (const name of ["d", "e", "f"]) {
    await rig.pod(name);
    await rig.clock.advance(1500);
  }
  assert.equal(rig.available("web"), 6);
  assert.equal(core.count(statusWrite), 3);
  assert.equal(metrics.value("aggregator_status_write_total", { result: "conflict" }), 0);
});

test("a Go component that strips the extensions causes neither barriers nor writes", async (t) => {
  const { rig, core, worker } = await counted(t, { trigger: true });
  await rig.clock.advance(5000);
  worker.log = [];
  core.log = [];
  for (let round = 0; round < 20; round++) {
    await rig.editCell("web", (cell) => {
      const { resourceVersion: _, countedAt: _at, countedSpec: _spec, ...upstream } = cell.aggregation!;
      return { ...cell, aggregation: upstream };
    });
    await rig.clock.advance(2000);
  }
  assert.equal(worker.count(barrierList), 0);
  assert.equal(core.count(statusWrite), 0);
  await rig.removePod("a");
  await rig.after(1000, { available: 2 });
  assert.notEqual(rig.cell("web")?.aggregation?.countedSpec, undefined, "the next write brings them back");
});

test("a CRD that drops the extension fields is reported once for all protectors, and counting goes on", async (t) => {
  const rig = await rigFor(t, upstreamPodProtectorCrd());
  for (const name of ["web", "api", "db"]) await rig.protect(name);
  for (const app of ["api", "db"]) await rig.pod(app, { labels: { app } });
  await rig.pod("a");
  const { logs, worker } = await rig.start({ trigger: true });
  await rig.clock.advance(5000);
  worker.log = [];
  for (const name of ["b", "c", "d"]) {
    await rig.pod(name);
    await rig.clock.advance(2000);
  }
  assert.equal(rig.available("web"), 4);
  assert.equal(rig.cell("web")?.aggregation?.countedSpec, undefined);
  assert.equal(logs.filter(({ message }) => message.includes("CRD")).length, 1);
  assert.equal(worker.count(barrierList), 0, "own memory stands in for the pruned version");
});

test("a cell whose recorded counts are newer than the snapshot is left alone until the watch is there", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  await rig.pod("a");
  const leader = await rig.start();
  const lagging = await rig.start({ lead: false, seed: 9 });
  await rig.clock.advance(65_000);
  lagging.worker.lagMs = 4000;
  await rig.pod("b");
  await rig.after(1000, { available: 2 });
  await leader.depose();
  lagging.lead();
  await rig.after(2500, { available: 2 }, "its snapshot still has one pod");
  assert.equal(lagging.core.count(statusWrite), 0);
  await rig.after(5000, { available: 2 });
});

test("the recorded version is that of the snapshot and never goes down", async (t) => {
  const { rig } = await counted(t);
  let last = parseResourceVersion(rig.cell("web")?.aggregation?.resourceVersion)!;
  for (const name of ["d", "e"]) {
    await rig.pod(name);
    await rig.clock.advance(1000);
    const next = parseResourceVersion(rig.cell("web")?.aggregation?.resourceVersion)!;
    assert.ok(compareResourceVersions(next, last) > 0);
    last = next;
  }
});

test("a status write that always fails is retried with a growing backoff", async (t) => {
  const { rig, core, logs } = await counted(t);
  core.onRequest = (_, what) => (statusWrite.test(what) ? new KubeError("serverError", "no space") : undefined);
  await rig.removePod("a");
  await rig.clock.advance(60_000);
  const writes = core.count(statusWrite);
  assert.ok(writes >= 5 && writes <= 15, `${writes} writes in a minute`);
  assert.ok(logs.some(({ message, fields }) => message.includes("Cannot aggregate") && fields?.["err"] !== undefined));
  core.onRequest = () => undefined;
  await rig.after(60_000, { available: 2 });
});

test("a protector that is deleted or recreated unseen is not written in a loop", async (t) => {
  const { rig, core } = await counted(t);
  core.lagMs = 30_000;
  await rig.coreEngine.delete(rig.protectorType, "default", "web");
  await rig.removePod("a");
  await rig.clock.advance(20_000);
  assert.ok(core.log.length <= 4, `${core.log.length} requests about an object that is gone`);
  await rig.protect("web");
  core.log = [];
  await rig.removePod("b");
  await rig.clock.advance(9000);
  assert.ok(core.log.length <= 4, `${core.log.length} requests about an object that was replaced`);
  core.lagMs = 0;
  await rig.after(120_000, { available: 1 });
});
