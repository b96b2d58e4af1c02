import assert from "node:assert/strict";
import { test } from "node:test";
import { type ResourceVersion } from "../../../src/api/resource-version.ts";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { type EpochMicros, later } from "../../../src/util/clock.ts";
import { counted, rigFor, withRig } from "./rig.ts";

const statusWrite = /^PUT .*\/podprotectors\/web\/status$/;
const barrierList = /^GET \/api\/v1\/pods$/;

test("counts appear once the watch has passed a barrier sent after the protector was seen", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  await rig.pod("a");
  await rig.pod("b", { ready: false });
  const { worker } = await rig.start();
  worker.lagMs = 5000;
  await rig.pod("c");
  await rig.clock.advance(4900);
  assert.ok(worker.count(barrierList) >= 1, "a barrier was sent");
  assert.equal(rig.cell("web")?.aggregation, undefined);
  await rig.clock.advance(1200);
  const aggregation = rig.cell("web")?.aggregation;
  assert.equal(aggregation?.totalReplicas, 3);
  assert.equal(aggregation?.availableReplicas, 2);
  assert.equal(rig.protector("web").status?.summary.aggregatedAvailableReplicas, 2);
});

test("a burst of pod events costs one status write, after rate times jitter, and at most one a period", async (t) => {
  const { rig, core } = await counted(t, { pods: ["a"], ms: 5000 });
  core.log = [];
  for (let index = 0; index < 20; index++) await rig.pod(`b${index}`);
  await rig.clock.advance(499);
  assert.equal(core.count(statusWrite), 0);
  await rig.clock.advance(501);
  assert.equal(core.count(statusWrite), 1);
  assert.equal(rig.available("web"), 21);

  core.log = [];
  for (let tenth = 0; tenth < 100; tenth++) {
    await rig.pod(`c${tenth}`);
    await rig.clock.advance(100);
  }
  const writes = core.count(statusWrite);
  assert.ok(writes >= 9 && writes <= 20, `${writes} writes in 10 s at a rate of 0.5 to 1 s`);
});

test("a protector's own aggregationRateMillis replaces the flag's", async (t) => {
  const { rig } = await counted(t, {
    pods: ["a"],
    spec: { admissionHistoryConfig: { aggregationRateMillis: 20_000 } },
    ms: 70_000,
  });
  await rig.pod("b");
  await rig.after(9000, { available: 1 });
  await rig.after(11_000, { available: 2 });
});

test("a change of labels moves the pod between the protectors of the old and of the new labels", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  await rig.protect("api");
  await rig.pod("a");
  await rig.pod("b");
  await rig.pod("c", { labels: { app: "api" } });
  await rig.start();
  await rig.clock.advance(65_000);
  assert.deepEqual([rig.available("web"), rig.available("api")], [2, 1]);
  await rig.relabel("a", { app: "api" });
  await rig.clock.advance(1000);
  assert.deepEqual([rig.available("web"), rig.available("api")], [1, 2]);
});

test("a pod is counted at the moment it has been Ready for minReadySeconds, without any event", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web", { minReadySeconds: 30 });
  await rig.pod("old");
  const { core } = await rig.start();
  await rig.after(65_000, { available: 1 });
  await rig.pod("young");
  await rig.clock.advance(10_000);
  await rig.pod("younger");
  await rig.after(19_999, { available: 1 });
  core.log = [];
  await rig.after(1, { available: 2 });
  await rig.after(9999, { available: 2 });
  await rig.after(1, { available: 3 });
  assert.equal(core.count(statusWrite), 2);
});

test("Ready times that are ahead are told of once an hour, and their pods counted since they were seen", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web", { minReadySeconds: 30 });
  const { logs, metrics } = await rig.start();
  const ahead = (seconds: number) => (rig.clock.epochMicros() + seconds * 1_000_000) as EpochMicros;
  await rig.pod("a", { readySince: ahead(28_800) });
  await rig.pod("b", { readySince: ahead(300) });
  await rig.pod("c", { readySince: ahead(4) });
  const told = () => logs.filter(({ message }) => message.startsWith("Ready time of a pod is ahead")).length;
  await rig.clock.advance(29_000);
  assert.deepEqual([rig.available("web"), told()], [0, 1]);
  await rig.clock.advance(12_000);
  assert.deepEqual([rig.available("web"), told()], [3, 1]);
  assert.equal(metrics.value("aggregator_index_error", { namespace: "default", error: "ReadyTime" }), 2);
  await rig.clock.advance(3_600_000);
  await rig.pod("d", { readySince: ahead(28_800) });
  await rig.clock.advance(41_000);
  assert.deepEqual([rig.available("web"), told()], [4, 2]);
});

test("when the wall clock is set, all is counted again within a minute, even if no pod changes", async (t) => {
  const rig = await rigFor(t);
  const hourMs = 3_600_000;
  await rig.protect("web", { minReadySeconds: 30 });
  await rig.pod("a");
  const { logs } = await rig.start();
  await rig.clock.advance(65_000);
  /** The version of the cluster moves, and the next bookmark tells of it. */
  const setClock = async (ms: number): Promise<void> => {
    rig.clock.jumpWallClock(ms);
    await rig.noise(rig.workerEngine);
    await rig.clock.advance(65_000);
  };
  assert.equal(rig.available("web"), 1);
  await setClock(-hourMs);
  assert.equal(rig.available("web"), 1, "by this clock it becomes Ready in an hour, but it has been counted");
  await setClock(hourMs);
  assert.equal(rig.available("web"), 1);

  await rig.protect("slow", { minReadySeconds: 600 });
  await rig.pod("b", { labels: { app: "slow" } });
  await setClock(hourMs);
  assert.equal(rig.available("slow"), 1);
  await setClock(-hourMs);
  assert.equal(rig.available("slow"), 0, "counted too early by a clock that was fast");
  assert.equal(logs.filter(({ message }) => message.includes("wall clock")).length, 4);
});

test("an invalid selector is reported when it appears, not at each status write of others", async (t) => {
  const rig = await rigFor(t);
  const broken = { matchExpressions: [{ key: "app", operator: "In", values: [] }] } as const;
  await rig.protect("web", { selector: broken });
  const { logs, metrics } = await rig.start();
  const reports = (): number => logs.filter(({ message }) => message.includes("invalid selector")).length;
  for (let write = 0; write < 20; write++) {
    await rig.addBucket("web", { podUID: `uid-${write}` });
    await rig.clock.advance(1000);
  }
  assert.equal(reports(), 1);
  assert.ok(metrics.value("aggregator_index_error", { namespace: "default", error: "Selector" }) >= 20);
  await rig.select("web", { matchLabels: { app: "web" } });
  await rig.clock.advance(1000);
  await rig.select("web", broken);
  await rig.clock.advance(1000);
  assert.equal(reports(), 2);
});

test("a selector that turns invalid leaves the last valid one in force: counts and settling go on", async (t) => {
  const rig = await rigFor(t);
  const broken = { matchExpressions: [{ key: "app", operator: "In", values: [] }] } as const;
  await rig.protect("web");
  await rig.pod("a");
  await rig.start();
  await rig.clock.advance(70_000);
  const spec = rig.cell("web")?.aggregation?.countedSpec;
  await rig.addBucket("web", { podUID: "gone", podResourceVersion: "1" as ResourceVersion });
  await rig.select("web", broken);
  await rig.after(2000, { buckets: 0 });
  await rig.pod("b");
  await rig.after(2000, { available: 2 });
  assert.equal(rig.cell("web")?.aggregation?.countedSpec, spec);
});

test("an object that takes the name of another with an invalid selector does not inherit a valid one", async (t) => {
  const { rig } = await counted(t, { pods: ["a"], ms: 70_000 });
  await rig.coreEngine.delete(rig.protectorType, "default", "web");
  await rig.protect("web", { selector: { matchExpressions: [{ key: "app", operator: "In", values: [] }] } });
  await rig.clock.advance(70_000);
  assert.equal(rig.protector("web").status, undefined);
});

test("only PodProtectors that the label selector picks are written", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web", {}, { labels: { team: "one" } });
  await rig.protect("api");
  await rig.pod("a");
  await rig.pod("b", { labels: { app: "api" } });
  await rig.start({ config: { podProtectorLabelSelector: { matchLabels: { team: "one" } } } });
  await rig.after(70_000, { available: 1 });
  assert.equal(rig.protector("api").status, undefined);
});

test("a deposed leader stops writing at once, and a standby, its cache warm, writes when it is elected", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  await rig.pod("a");
  const first = await rig.start();
  const standby = await rig.start({ lead: false, seed: 8 });
  await rig.after(65_000, { available: 1 });
  assert.equal(standby.core.count(statusWrite), 0);

  await rig.pod("b");
  await first.depose();
  first.core.log = [];
  await rig.clock.advance(60_000);
  assert.deepEqual(first.core.log, [], "a deposed leader asks for nothing");
  assert.equal(rig.available("web"), 1);

  standby.lead();
  await rig.after(0, { available: 2 }, "without waiting for an event or a barrier");
  assert.equal(standby.core.count(statusWrite), 1);
});

test("a write in flight is given up when leadership ends, and a later term works again", async (t) => {
  const { rig, core, lead, depose } = await counted(t, { pods: ["a"] });
  let release = (): void => {};
  core.onRequest = (request) =>
    request.method === "PUT" ? new Promise((resolve) => (release = () => resolve(undefined))) : undefined;
  await rig.pod("b");
  await rig.clock.advance(1000);
  const deposed = depose();
  release();
  await deposed;
  assert.equal(rig.available("web"), 1);
  core.onRequest = () => undefined;
  lead();
  await rig.after(0, { available: 2 });
});

test("after an edit of the selector the pods are counted again, and only after a barrier", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  await rig.pod("a");
  await rig.pod("b", { labels: { app: "api" } });
  await rig.pod("c", { labels: { app: "api" } });
  await rig.start({ trigger: true });
  await rig.clock.advance(5000);
  const before = rig.cell("web")?.aggregation;
  assert.equal(before?.availableReplicas, 1);
  await rig.select("web", { matchLabels: { app: "api" } });
  await rig.clock.advance(5000);
  const after = rig.cell("web")?.aggregation;
  assert.equal(after?.availableReplicas, 2);
  assert.notEqual(after?.countedSpec, before?.countedSpec);
});

test("in a quiet cluster first counts wait for a bookmark, or for the dummy pod that is touched at once", async () => {
  for (const [trigger, latestMs] of [
    [false, 62_000],
    [true, 3000],
  ] as const) {
    await withRig(async (rig) => {
      await rig.pod("a");
      const { worker } = await rig.start({ trigger });
      await rig.clock.advance(10_000);
      await rig.protect("web");
      // The cluster's version moves without any pod.
      await rig.noise(rig.workerEngine);
      worker.log = [];
      await rig.clock.advance(trigger ? 0 : 10_000);
      assert.equal(rig.cell("web"), undefined);
      await rig.clock.advance(latestMs);
      assert.equal(rig.available("web"), 1, `trigger ${trigger}`);
      assert.equal(worker.count(/^PATCH .*dummy$/) > 0, trigger);
    });
  }
});

test("the pods of a protector that is recreated under its name are counted again, after a settle window", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  await rig.pod("a");
  await rig.start({ trigger: true });
  await rig.clock.advance(5000);
  const before = rig.cell("web")?.aggregation?.countedSpec;
  await rig.coreEngine.delete(rig.protectorType, "default", "web");
  await rig.protect("web");
  await rig.clock.advance(70_000);
  assert.equal(rig.cell("web"), undefined);
  await rig.after(10_000, { available: 1 });
  assert.notEqual(rig.cell("web")?.aggregation?.countedSpec, before);
});

test("a selector edited while its object is read live is counted by the new one, after a barrier", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  for (const name of ["a", "b", "c"]) await rig.pod(name);
  await rig.pod("x", { labels: { app: "api" } });
  const { core, worker, protectorInformer } = await rig.start({ trigger: true });
  await rig.after(5000, { available: 3 });
  const specBefore = rig.cell("web")?.aggregation?.countedSpec;
  let release: (() => void) | undefined;
  core.onRequest = (_, what) =>
    /^GET .*\/podprotectors\/web$/.test(what) && release === undefined
      ? new Promise((resolve) => (release = () => resolve(undefined)))
      : undefined;
  worker.onRequest = (_, what) => (/^GET \/api\/v1\/pods$/.test(what) ? new KubeError("serverError", "no") : undefined);
  protectorInformer.relist();
  await rig.clock.advance(2000);
  assert.notEqual(release, undefined, "the live read is under way");
  await rig.select("web", { matchLabels: { app: "api" } });
  await rig.clock.advance(100);
  release?.();
  await rig.after(400, { available: 3 }, "no barrier has been passed, so nothing is counted by the new selector");
  worker.onRequest = () => undefined;
  await rig.after(10_000, { available: 1 });
  assert.notEqual(rig.cell("web")?.aggregation?.countedSpec, specBefore);
});

test("a PodProtector that is to be counted rarely is not behind before its time", async (t) => {
  const rig = await rigFor(t);
  const minuteMs = 60_000;
  await rig.protect("web", { admissionHistoryConfig: { aggregationRateMillis: 10 * minuteMs } });
  await rig.pod("a");
  const { aggregator } = await rig.start({ trigger: true });
  await rig.after(45 * minuteMs, { available: 1 });
  await rig.pod("b");
  const overdue = (): readonly string[] => aggregator.backlog.behind(later(rig.clock.monotonicMs(), -3 * minuteMs));
  await rig.after(4 * minuteMs, { available: 1 }, "it waits for its time");
  assert.deepEqual(overdue(), []);
  await rig.after(7 * minuteMs, { available: 2 });
  assert.deepEqual(overdue(), []);
});
