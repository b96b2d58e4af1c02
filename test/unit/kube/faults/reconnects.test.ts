import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { objectKey } from "../../../../src/api/object-key.ts";
import { type Informer } from "../../../../src/kube/informer.ts";
import { builtInResources } from "../../../double/index.ts";
import { type Rig, startRig } from "./rig.ts";
import { createItemInformer, type Item } from "./witness.ts";

const type = builtInResources.configMaps;

async function startInformer(
  t: TestContext,
  rig: Rig,
): Promise<{ informer: Informer<Item>; stop: () => Promise<void> }> {
  const client = await rig.connect();
  const informer = createItemInformer(rig, client);
  const signal = new AbortController();
  const running = informer.run(signal.signal);
  const stop = async (): Promise<void> => {
    signal.abort();
    await running;
    await client.close();
  };
  t.after(stop);
  await rig.until(() => informer.hasSynced(), "the first list");
  return { informer, stop };
}

async function create(rig: Rig, name: string): Promise<void> {
  await rig.server.engine.create(type, "default", { apiVersion: "v1", kind: "ConfigMap", metadata: { name } });
}

test("a watch that stalls is noticed within its idle deadline of 150 s, and no event is lost", async (t) => {
  const rig = await startRig(t);
  // The first stream says nothing after its end mark, not even bookmarks.
  rig.setFaults(({ number }) => (number === 1 ? { type: "stall", afterEvents: 1 } : undefined));
  const { informer } = await startInformer(t, rig);
  const stalledAtMs = rig.clock.monotonicMs();
  await create(rig, "missed");
  await rig.until(() => rig.requests() === 3, "a look at the version, then a second watch");
  const noticedAfterMs = rig.clock.monotonicMs() - stalledAtMs;
  assert.ok(noticedAfterMs >= 150_000 && noticedAfterMs <= 150_800, `after ${noticedAfterMs} ms`);
  await rig.until(() => informer.get(objectKey("default", "missed")) !== undefined, "the missed event");
});

test("a watch whose version was compacted away is followed by a list, which shows missed deletions", async (t) => {
  const rig = await startRig(t);
  await create(rig, "deleted");
  const { informer } = await startInformer(t, rig);
  rig.setFaults(({ number }) => (number === 1 ? { type: "serverError" } : undefined));
  rig.server.dropWatches();
  await rig.until(() => rig.requests() === 1, "the first attempt to go on");
  await rig.server.engine.delete(type, "default", "deleted");
  await create(rig, "new");
  rig.server.engine.forgetHistory();
  await rig.until(() => informer.get(objectKey("default", "new")) !== undefined, "the list");
  assert.equal(informer.get(objectKey("default", "deleted")), undefined);
  assert.equal(rig.requests(), 4, "two looks at the version, a watch that is refused, then a WatchList");
});

test("a server that accepts and then says nothing at all never looks synced or alive", async (t) => {
  const rig = await startRig(t);
  const { informer } = await startInformer(t, rig);
  rig.setFaults(() => ({ type: "stall" }));
  rig.server.dropWatches();
  await rig.until(() => rig.requests() >= 5, "five attempts");
  assert.ok(informer.stalenessMs() > 120_000, `silent for ${informer.stalenessMs()} ms`);
  assert.match(informer.lastError() ?? "", /^cannot watch configmaps: .*no answer for 30000 ms/);
});

test("headers alone are no contact, which shows behind a proxy that swallows the events", async (t) => {
  const rig = await startRig(t);
  const { informer } = await startInformer(t, rig);
  rig.setFaults(({ isWatch }) => (isWatch ? { type: "stall", afterEvents: 0 } : undefined));
  rig.server.dropWatches();
  await rig.until(() => rig.requests() >= 8, "four watches, each after a look at the version");
  assert.ok(informer.stalenessMs() > 400_000, `silent for ${informer.stalenessMs()} ms`);
});

test("a fault of one connection concerns no other", async (t) => {
  const rig = await startRig(t);
  const { informer } = await startInformer(t, rig);
  rig.setFaults(({ connection }) => (connection === 1 ? { type: "serverError" } : undefined));
  rig.server.dropWatches();
  await create(rig, "new");
  await rig.until(() => informer.get(objectKey("default", "new")) !== undefined, "a watch on another connection");
  assert.ok(rig.requests() <= 40, `${rig.requests()} requests`);
});

/** Bytes of heap in use after a full collection. */
function usedHeapBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

test("a thousand reconnects over sockets leave no socket, timer or memory behind", async (t) => {
  const rig = await startRig(t);
  const { informer, stop } = await startInformer(t, rig);
  const resources = (): number => process.getActiveResourcesInfo().length;
  let before: { heap: number; sockets: number; timers: number; resources: number } | undefined;
  for (let reconnect = 1; reconnect <= 1_500; reconnect++) {
    const seen = rig.requests();
    // A look at the version, then the watch.
    if (reconnect % 50 === 0) await create(rig, `item-${reconnect}`);
    rig.server.dropWatches();
    await rig.until(() => rig.requests() === seen + 2 && rig.server.openWatches === 1, "the next watch");
    // By the 500th, what is made once is there: buffers, compiled code.
    if (reconnect !== 500 && reconnect !== 1_500) continue;
    const now = {
      heap: usedHeapBytes(),
      sockets: rig.server.openConnections,
      timers: rig.clock.pendingTimers,
      resources: resources(),
    };
    before ??= now;
    assert.deepEqual([now.sockets, now.timers], [1, before.timers]);
    assert.ok(now.resources <= before.resources + 2, `${now.resources} handles after ${before.resources}`);
    // A thousand leaked sockets or streams are 5 MB and more. What compiled code and buffers take goes up and down by
    // 1.3 MB, as measured over 3,500 reconnects.
    assert.ok(now.heap - before.heap < 3_000_000, `${now.heap - before.heap} bytes more`);
  }
  assert.equal(informer.size, 30);
  await stop();
  await rig.until(() => rig.server.openConnections === 0, "the connection is closed");
  assert.equal(rig.clock.pendingTimers, 0);
});
