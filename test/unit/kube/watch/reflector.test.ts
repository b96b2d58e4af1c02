import assert from "node:assert/strict";
import { test } from "node:test";
import { drainMicrotasks } from "../../../support/virtual-clock.ts";
import {
  added,
  bookmark,
  create,
  deleted,
  describe,
  errorEvent,
  modified,
  start,
  startSynced,
  thing,
  versionOf,
} from "./reflector-rig.ts";

test("a corrupt stream is resumed at the last good version; corrupt there again, it is listed again", async (t) => {
  for (const garbage of ["{not json}\n", '{"type":"ADDED","object":{}}\n', '{"type":"STRANGE"}\n', "null\n"]) {
    const { client, takeLog, passBackoff, relists } = await startSynced(t, thing("a", 3));
    client.stream0().send(modified(thing("a", 11)));
    client.stream0().sendText(garbage);
    client.stream0().send(modified(thing("a", 99)));
    await passBackoff();
    assert.deepEqual(takeLog(), ["modified ns/a@3 -> ns/a@11", "progress 11"]);
    assert.equal(client.stream0().request.query?.["resourceVersion"], "11");
    client.stream0().sendText(garbage);
    await passBackoff();
    assert.equal(relists("corrupt"), 1, garbage);
    assert.equal(client.stream0().request.query?.["sendInitialEvents"], true);
  }
});

test("an incomplete last line is dropped and sent again after the reconnect", async (t) => {
  const { client, takeLog, clock } = await startSynced(t, thing("a", 3));
  client.stream0().sendText(JSON.stringify(modified(thing("a", 11))).slice(0, 40));
  await clock.advance(2_000);
  client.stream0().end();
  await drainMicrotasks();
  client.stream0().send(modified(thing("a", 11)));
  await drainMicrotasks();
  assert.deepEqual(takeLog(), ["modified ns/a@3 -> ns/a@11", "progress 11"]);
});

test("relist() drops the watch, lists again and keeps the store until the list has arrived", async (t) => {
  const { client, informer, takeLog, passBackoff, relists } = await startSynced(t, thing("a", 9), thing("b", 8));
  client.stream0().send(modified(thing("a", 11)));
  informer.relist();
  await passBackoff();
  assert.equal(client.streams.length, 2);
  assert.equal(relists("requested"), 1);
  assert.equal(client.stream0().request.query?.["resourceVersion"], undefined);
  assert.equal(informer.size, 2);
  assert.deepEqual(takeLog(), []);
  // The server's history was reset: everything has lower versions now.
  client.stream0().send(added(thing("a", 2)), bookmark(5, true), modified(thing("a", 6)));
  await drainMicrotasks();
  assert.deepEqual(takeLog(), [
    "absent ns/b@8",
    "modified ns/a@9 -> ns/a@2",
    "progress 5",
    "listed again",
    "modified ns/a@2 -> ns/a@6",
    "progress 6",
  ]);
  assert.equal(informer.version(), versionOf("6"));
});

test("only a list that was asked for to be fresh, of a watch in order, tells which objects have changed", async (t) => {
  const { client, informer, changes, passBackoff } = start(t);
  const list = async (version: number, ...things: readonly unknown[]): Promise<readonly string[] | undefined> => {
    await passBackoff();
    client.stream0().send(...things.map(added), bookmark(version, true));
    await drainMicrotasks();
    return changes.at(-1);
  };
  const [a, b, c] = [thing("a", 3), thing("b", 4), thing("c", 15)];
  assert.equal(await list(10, a, b), undefined, "the first list");
  client.stream0().send(modified(thing("b", 11)));
  await drainMicrotasks();
  informer.relist({ isPaced: true });
  assert.deepEqual(await list(15, a, c), ["ns/b", "ns/c"], "gone and new");
  informer.relist({ isPaced: true });
  assert.deepEqual(await list(16, a, c), []);
  informer.relist();
  informer.relist({ isPaced: true });
  assert.equal(await list(17, a, c), undefined, "a reset is known");
  informer.relist({ isPaced: true });
  informer.relist();
  assert.equal(await list(18, a, c), undefined, "a reset came to be known meanwhile");
  informer.relist({ isPaced: true });
  assert.equal(await list(17, a, c), undefined, "the list is older than what was known");
  client.stream0().fail("network");
  await passBackoff();
  informer.relist({ isPaced: true });
  assert.equal(await list(19, a, c), undefined, "the watch has been broken since the last list");
  informer.relist({ isPaced: true });
  await passBackoff();
  client.stream0().fail("network");
  assert.equal(await list(20, a, c), undefined, "a list was cut off");
  assert.equal(changes.length, 8);
});

test("relist() during a pause or a list restarts the list", async (t) => {
  const { client, informer, passBackoff } = await startSynced(t, thing("a", 3));
  client.stream0().fail("network");
  await drainMicrotasks();
  informer.relist();
  await passBackoff();
  assert.equal(client.streams.length, 2);
  assert.equal(client.stream0().request.query?.["sendInitialEvents"], true);
  client.stream0().send(added(thing("stale", 3)));
  informer.relist();
  await passBackoff();
  assert.equal(client.streams.length, 3);
  assert.equal(client.streams[1]?.closed, true);
  client.stream0().send(added(thing("a", 3)), bookmark(20, true));
  await drainMicrotasks();
  assert.equal(informer.version(), "20");
  assert.equal(informer.size, 1);
});

test("an unusable object is counted and treated as absent, and the stream goes on", async (t) => {
  const { client, informer, takeLog, metrics } = await startSynced(t, thing("a", 3), thing("bad", 4, "undecodable"));
  assert.equal(informer.size, 1);
  client
    .stream0()
    .send(modified(thing("a", 11, "undecodable")), added(thing("a", 12)), deleted(thing("a", 13, "undecodable")));
  await drainMicrotasks();
  assert.deepEqual(takeLog(), [
    "absent ns/a@3",
    "progress 11",
    "added ns/a@12",
    "progress 12",
    "deleted ns/a@12",
    "progress 13",
  ]);
  assert.equal(metrics.value("kube_informer_decode_errors_total", { cluster: "test", informer: "things" }), 3);
});

test("nothing is emitted after stop, not even the rest of a list or chunk", async (t) => {
  const { client, stop, running, log } = start(t);
  await drainMicrotasks();
  client.stream0().send(added(thing("a", 3)), bookmark(10, true));
  stop.abort();
  client.stream0().send(modified(thing("a", 11)));
  await running;
  assert.deepEqual(log, []);
});

test("a handler that stops the informer is the last one called", async () => {
  const { client, clock, informer } = create();
  const stop = new AbortController();
  const seen: string[] = [];
  informer.subscribe({
    onEvent: (event) => {
      seen.push(describe(event));
      stop.abort();
    },
    onProgress: () => void seen.push("progress"),
    onListed: () => void seen.push("listed"),
  });
  informer.subscribe({ onEvent: () => void seen.push("second handler") });
  const running = informer.run(stop.signal);
  await drainMicrotasks();
  client.stream0().send(added(thing("a", 3)), added(thing("b", 4)), bookmark(10, true));
  await running;
  assert.deepEqual(seen, ["added ns/a@3"]);
  assert.equal(informer.hasSynced(), false);
  assert.equal(clock.pendingTimers, 0);
});

test("an informer whose signal aborted before the start sends nothing", async () => {
  const { client, informer } = create();
  await informer.run(AbortSignal.abort());
  assert.equal(client.streams.length + client.requests.length, 0);
});

test("a mistake in a handler ends the run instead of being taken for a broken watch", async () => {
  const { client, informer } = create();
  informer.subscribe({
    onEvent: () => {
      throw new TypeError("a mistake");
    },
  });
  const running = informer.run(new AbortController().signal);
  const rejected = assert.rejects(running, /a mistake/);
  await drainMicrotasks();
  client.stream0().send(added(thing("a", 3)), bookmark(10, true));
  await rejected;
});

test("the time without contact grows until the next frame, and is a gauge", async (t) => {
  const { client, clock, informer, metrics, stop } = await startSynced(t);
  const gauge = (): number => {
    metrics.scrape();
    return metrics.value("kube_informer_watch_silence_seconds", { cluster: "test", informer: "things" });
  };
  await clock.advance(42_000);
  assert.equal(informer.stalenessMs(), 42_000);
  assert.equal(gauge(), 42);
  client.stream0().send(bookmark(11));
  await drainMicrotasks();
  assert.equal(gauge(), 0);
  stop.abort();
  await drainMicrotasks();
  await clock.advance(5_000);
  assert.equal(gauge(), 0, "another informer may measure the same by then");
});

test("neither the header of a watch nor half of a new list makes the store look fresh", async (t) => {
  const { client, clock, informer, passBackoff } = await startSynced(t, thing("a", 3));
  await clock.advance(100_000);
  client.stream0().fail("network");
  await passBackoff();
  assert.equal(client.streams.length, 2);
  assert.equal(informer.lastError(), undefined);
  assert.ok(informer.stalenessMs() > 100_000, "a header is no news");
  client.stream0().send(errorEvent(410, "Expired"));
  await passBackoff();
  client.stream0().send(added(thing("a", 3)), added(thing("b", 12)));
  await clock.advance(1_000);
  assert.ok(informer.stalenessMs() > 101_000, "half of a list is none");
  client.stream0().send(bookmark(20, true));
  await drainMicrotasks();
  assert.equal(informer.stalenessMs(), 0);
});

test("relist() between two phases is not forgotten until the next event", async (t) => {
  const { client, informer, passBackoff } = await startSynced(t, thing("a", 3));
  await passBackoff();
  client.stream0().end();
  // The reader of the ended stream needs some turns of the promise queue; one of these is the moment between the
  // phases.
  for (let turn = 0; turn < 40 && client.streams.length === 1; turn++) await Promise.resolve();
  assert.equal(client.streams.length, 2);
  for (let turns = 0; turns < 40; turns++) {
    const streams: number = client.streams.length;
    client.stream0().send(bookmark(100 + turns));
    client.stream0().end();
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    informer.relist();
    await passBackoff();
    assert.equal(client.stream0().request.query?.["sendInitialEvents"], true, `after ${turns} turns`);
    assert.ok(client.streams.length - streams <= 2);
    client.stream0().send(added(thing("a", 3)), bookmark(100 + turns, true));
    await passBackoff();
  }
});

test("relist() again during the pause before the list is answered by that list", async (t) => {
  const { client, clock, informer, relists, passBackoff } = await startSynced(t, thing("a", 3));
  informer.relist();
  await drainMicrotasks();
  informer.relist();
  await drainMicrotasks();
  assert.equal(clock.pendingTimers, 1, "the pause goes on");
  await passBackoff();
  assert.equal(client.streams.length, 2);
  assert.equal(relists("requested"), 1);
});

test("a thousand reconnects leave no timer and no open stream behind", async (t) => {
  const { client, clock, informer } = await startSynced(t, thing("a", 3));
  for (let version = 11; version < 1_011; version++) {
    client.stream0().send(modified(thing("a", version)));
    if (version % 2 === 0) client.stream0().end();
    else client.stream0().fail("network");
    await clock.advance(31_000);
  }
  assert.equal(client.streams.length, 1_001);
  assert.equal(client.streams.filter((stream) => !stream.closed).length, 1);
  assert.equal(clock.pendingTimers, 1, "the limit of that one");
  assert.equal(informer.version(), "1010");
});
