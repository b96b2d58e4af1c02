import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { sleep } from "../../../../src/util/clock.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { builtInResources as types } from "../../../double/engine/resources.ts";
import { counted, type Rig, rigFor, type Running } from "../rig.ts";

const statusWrite = /^PUT .*\/podprotectors\/\w+\/status$/;

/** A deletion that is admitted and carried out: the pod terminates. */
async function deletePod(rig: Rig, name: string): Promise<void> {
  await rig.admit("web", name);
  await rig.workerEngine.delete(types.pods, "default", name);
}

const podsOf = (count: number): string[] => Array.from({ length: count }, (_, index) => `pod-${index}`);

/** Deletes so many pods, a hundred a second. Resolves when all of them have settled. */
async function wave(t: TestContext, count: number): Promise<Running> {
  const pods = podsOf(count);
  const { rig, ...running } = await counted(t, { pods, trigger: true });
  for (const name of pods) {
    await deletePod(rig, name);
    await rig.clock.advance(10);
  }
  await rig.after(100, { buckets: 0 });
  return running;
}

/** Status writes of the aggregator, without those that the test makes itself. */
const writes = ({ core }: Running): number => core.count(statusWrite);

test("the quota of a deletion that is carried out is back within 20 ms after a quiet time", async (t) => {
  const { rig, ...running } = await counted(t, { pods: ["a", "b"], trigger: true });
  await deletePod(rig, "a");
  await rig.after(20, { buckets: 0, available: 1 });
  assert.equal(writes(running), 1);
  assert.equal(running.metrics.value("aggregator_prompt_count_total", { result: "prompt" }) > 0, true);
});

test("deletions that follow each other share a write every 100 ms", async (t) => {
  const running = await wave(t, 40);
  assert.ok(writes(running) <= 6, `${writes(running)} writes in 0.4 s`);
});

test("where a write takes 40 ms, deletions that follow each other share one every 500 ms", async (t) => {
  const names = podsOf(100);
  const { rig, ...running } = await counted(t, { pods: names, trigger: true });
  for (const name of names) await rig.admit("web", name);
  running.core.onRequest = async (request) => {
    if (request.method === "PUT") await sleep(rig.clock, 40);
    return undefined;
  };
  for (const name of names) {
    await rig.workerEngine.delete(types.pods, "default", name);
    await rig.clock.advance(10);
  }
  await rig.after(1_000, { buckets: 0 });
  assert.ok(writes(running) >= 3 && writes(running) <= 5, `${writes(running)} writes in 2 s`);
});

test("what comes while a write is under way keeps the same distance from it", async (t) => {
  const { rig, ...running } = await counted(t, { trigger: true });
  let release = (): void => {};
  running.core.onRequest = (request) =>
    request.method === "PUT" ? new Promise((resolve) => (release = () => resolve(undefined))) : undefined;
  await deletePod(rig, "a");
  await rig.clock.advance(20);
  assert.equal(writes(running), 1);
  await rig.removePod("c");
  await rig.clock.advance(20);
  running.core.onRequest = () => undefined;
  release();
  await rig.clock.advance(40);
  assert.equal(writes(running), 1);
});

test("a large aggregation rate of the object's own holds nothing up that somebody waits for", async (t) => {
  const { rig } = await counted(t, {
    pods: ["a", "b"],
    trigger: true,
    spec: { admissionHistoryConfig: { aggregationRateMillis: 60_000 } },
  });
  await deletePod(rig, "a");
  await rig.after(20, { buckets: 0 });
});

test("a small one makes it faster still, but writes every 100 ms at most", async (t) => {
  const names = podsOf(100);
  const { rig, ...running } = await counted(t, {
    pods: names,
    trigger: true,
    spec: { admissionHistoryConfig: { aggregationRateMillis: 0 } },
  });
  for (const name of names) {
    await rig.setReady(name, false);
    await rig.clock.advance(10);
    if (name === "pod-0") assert.equal(rig.available("web"), 99);
  }
  await rig.after(100, { available: 0 });
  assert.ok(writes(running) <= 12, `${writes(running)} writes in 1.1 s`);
});

test("a hundred deletions a second cost ten writes a second", async (t) => {
  const running = await wave(t, 300);
  assert.ok(writes(running) <= 32, `${writes(running)} writes in 3.1 s`);
});

test("where nothing changes nothing is written, and no barrier is asked for", async (t) => {
  const { rig, ...running } = await counted(t, { pods: ["a", "b"], trigger: true });
  await deletePod(rig, "a");
  await rig.clock.advance(1_000);
  running.core.log = [];
  running.worker.log = [];
  for (let round = 0; round < 600; round++) {
    await rig.relabel("b", { round: `${round}` });
    await rig.clock.advance(1_000);
  }
  assert.equal(writes(running), 0);
  assert.equal(running.worker.count(/^GET .*\/pods\?limit=1/), 0);
});

test("a deletion that is never carried out costs the write that settles it", async (t) => {
  const { rig, ...running } = await counted(t, { pods: ["a", "b"], trigger: true });
  await rig.admit("web", "a");
  for (let round = 0; round < 100; round++) {
    await rig.relabel("b", { round: `${round}` });
    await rig.clock.advance(1_000);
  }
  assert.deepEqual(rig.buckets("web"), []);
  assert.equal(writes(running), 1);
});

test("while the core takes no writes, what somebody waits for is retried with the usual backoff", async (t) => {
  const names = podsOf(101);
  const { rig, ...running } = await counted(t, {
    pods: names,
    trigger: true,
    spec: { admissionHistoryConfig: { aggregationRateMillis: 60_000 } },
  });
  running.core.onRequest = ({ method }) => (method === "PUT" ? new KubeError("tooManyRequests", "no") : undefined);
  await rig.admit("web", "pod-100");
  for (const name of names.slice(0, 100)) {
    await rig.setReady(name, false);
    await rig.clock.advance(100);
  }
  assert.ok(writes(running) <= 8, `${writes(running)} writes in 10 s`);
  running.core.onRequest = () => undefined;
  await rig.after(20_000, { available: 1 });
});

test("nobody waits for an object without a floor", async (t) => {
  const { rig } = await counted(t, { pods: ["a", "b"], trigger: true, spec: { minAvailable: 0 } });
  await deletePod(rig, "a");
  await rig.after(400, { buckets: 1 });
  await rig.after(600, { buckets: 0 });
});

test("counts that nobody waits for come at the aggregation rate", async (t) => {
  const { rig } = await counted(t, { pods: ["a", "b"], trigger: true });
  await rig.setReady("a", false);
  await rig.after(490, { available: 2 });
  await rig.after(510, { available: 1 });
});

test("a pod that becomes ready within a minute of an admission is counted at once, other changes not", async (t) => {
  const { rig } = await counted(t, { trigger: true });
  await deletePod(rig, "a");
  await rig.clock.advance(30_000);
  await rig.setReady("b", false);
  await rig.after(400, { available: 2 }, "that it is not ready gives nobody quota");
  await rig.clock.advance(600);
  await rig.setReady("b", true);
  await rig.after(20, { available: 2 });
  await rig.setReady("b", false);
  await rig.clock.advance(60_000);
  await rig.setReady("b", true);
  await rig.after(400, { available: 1 }, "after a minute nobody is expected any more");
});

test("a busy cell does not wake an object that somebody waits for at each event of other pods", async (t) => {
  const { rig, metrics } = await counted(t, { pods: ["a", "b"], trigger: true });
  await rig.pod("other", { labels: { app: "other" } });
  await rig.admit("web", "a");
  await rig.clock.advance(1_000);
  const before = metrics.value("aggregator_prompt_count_total", { result: "prompt" });
  for (let round = 0; round < 100; round++) {
    await rig.relabel("other", { round: `${round}` });
    await rig.clock.advance(10);
  }
  assert.equal(metrics.value("aggregator_prompt_count_total", { result: "prompt" }), before);
});

test("first counts of an object wait a part of 20 ms for each cell that the widest object has", async (t) => {
  const { rig, ...running } = await counted(t, { pods: ["a"], trigger: true });
  const cells = Array.from({ length: 99 }, (_, index) => ({ cellID: `other-${index}` }));
  for (const cell of cells) await rig.putCell("web", cell);
  await rig.clock.advance(5_000);
  const waits: number[] = [];
  for (let round = 0; round < 20; round++) {
    const name = `app${round}`;
    await rig.pod(`pod-${round}`, { labels: { app: name } });
    await rig.protect(name);
    const beganMs = rig.clock.monotonicMs();
    while (rig.cell(name) === undefined) await rig.clock.advance(50);
    waits.push(rig.clock.monotonicMs() - beganMs);
  }
  assert.ok(Math.max(...waits) > 2_000, waits.join());
  assert.ok(Math.max(...waits) <= 4_500, waits.join());
  assert.ok(new Set(waits.map((wait) => Math.round(wait / 200))).size >= 6, "they are spread");
  assert.ok(writes(running) >= 20);
});

test("an object with a thousand cells delays the first counts of others by seconds at most", async (t) => {
  const { rig } = await counted(t, { pods: ["a"], trigger: true });
  const status = rig.protector("web").status;
  assert.ok(status !== undefined);
  const others = Array.from({ length: 999 }, (_, index) => ({ cellID: `other-${index}` }));
  await rig.putCells("web", [...status.cells, ...others]);
  await rig.clock.advance(5_000);
  for (let round = 0; round < 10; round++) {
    const name = `app${round}`;
    await rig.pod(`pod-${round}`, { labels: { app: name } });
    await rig.protect(name);
  }
  await rig.clock.advance(4_500);
  for (let round = 0; round < 10; round++) assert.equal(rig.available(`app${round}`), 1);
});

test("a new leader counts at once what somebody waits for, and a wall clock that is set changes nothing", async (t) => {
  const { rig, ...former } = await counted(t, { trigger: true });
  const next = await rig.start({ trigger: true, lead: false, seed: 8 });
  await rig.clock.advance(1_000);
  await rig.admit("web", "a");
  await former.depose();
  await rig.removePod("a");
  next.lead();
  await rig.after(20, { buckets: 0 });
  for (const ms of [3_600_000, -7_200_000]) {
    rig.clock.jumpWallClock(ms);
    await rig.admit("web", "b");
    await rig.after(20, { buckets: 1 }, "it is not carried out yet");
    await rig.relabel("b", { another: `version-${ms}` });
    await rig.after(120, { buckets: 0 });
  }
});

test("a standby writes nothing, however long somebody waits", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  await rig.pod("a");
  const standby = await rig.start({ lead: false });
  await rig.admit("web", "a");
  await rig.removePod("a");
  await rig.clock.advance(60_000);
  assert.equal(writes(standby), 0);
});
