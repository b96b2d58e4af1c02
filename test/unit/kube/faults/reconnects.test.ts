import assert from "node:assert/strict";
import test from "node:test";
import { objectKey } from "../../../../src/api/object-key.ts";
import { create, startInformer, type } from "./informer-rig.ts";
import { startRig } from "./rig.ts";

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
  let oldestMs = 0;
  const isListed = (): boolean => {
    const isNewer = informer.stalenessMs() < oldestMs;
    oldestMs = Math.max(oldestMs, informer.stalenessMs());
    return isNewer;
  };
  await rig.until(isListed, "two watches, a WatchList, then a list in pages, which is news");
  assert.ok(oldestMs > 180_000 && oldestMs < 290_000, `silent for ${oldestMs} ms`);
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
