/** What others have promised, and when it is not waited for any more (docs/kubernetes.md#who-ends-what). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { drainMicrotasks, type VirtualClock } from "../../../support/virtual-clock.ts";
import { added, bookmark, deleted, modified, start, startSynced, thing } from "./reflector-rig.ts";

/** An answer on its way for so long, unless whoever asked gives up. */
function pass(clock: VirtualClock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimer(ms, resolve);
    signal?.addEventListener("abort", () => {
      timer.cancel();
      reject(new KubeError("aborted", "aborted by the caller"));
    });
  });
}

test("initial objects that come for most of a minute are no fault, and the end mark may be 15 s later", async (t) => {
  const { client, clock, logger, informer } = start(t);
  for (let second = 0; second < 56; second += 14) {
    await clock.advance(second === 0 ? 0 : 14_000);
    client.stream0().send(added(thing(`t${second}`, 3 + second)));
  }
  await clock.advance(14_000);
  client.stream0().send(bookmark(100, true));
  await drainMicrotasks();
  assert.equal(informer.size, 4);
  assert.equal(client.requests.length, 0, "no pages");
  assert.ok(logger.entries.every(({ level }) => level !== "warn"));
});

const missed: readonly (readonly [string, number, (send: (event: unknown) => void, second: number) => void])[] = [
  ["within 60 s", 60_000, (send, second) => send(added(thing(`t${second}`, 3 + second)))],
  ["within 15 s of the first change", 20_000, (send, second) => second >= 5 && send(modified(thing("a", 3 + second)))],
  ["within 15 s of the first change", 20_000, (send, second) => second >= 5 && send(deleted(thing("a", 3 + second)))],
  ["in 15 s of silence", 19_000, (send, second) => second < 5 && send(added(thing(`t${second}`, 3 + second)))],
  ["in 15 s of silence", 15_000, () => undefined],
  ["within 60 s", 60_000, (send, second) => send(bookmark(3 + second))],
];
for (const [index, [why, dueMs, feed]] of missed.entries()) {
  test(`a WatchList without an end mark ${why} is listed in pages then: ${index}`, async (t) => {
    const { client, clock, logger, informer } = start(t, (scripted) => {
      scripted.onRequest = () => ({ metadata: { resourceVersion: "300" }, items: [thing("a", 200)] });
    });
    await drainMicrotasks();
    const stream = client.stream0();
    for (let second = 0; !stream.closed; second++) {
      feed((event) => stream.send(event), second);
      await clock.advance(1_000);
    }
    assert.equal(clock.monotonicMs(), dueMs);
    assert.equal(informer.lastError(), `cannot list things: no end mark ${why}: a proxy may drop bookmarks`);
    await clock.advance(1_000);
    assert.deepEqual([informer.hasSynced(), informer.size, informer.lastError()], [true, 1, undefined]);
    const lines = logger.entries.filter(({ level }) => level === "warn");
    assert.deepEqual(
      lines.map(({ message, fields }) => [message, fields["why"], fields["informer"]]),
      [["A bookmark did not come, listing anew", `no end mark ${why}: a proxy may drop bookmarks`, "things"]],
    );
  });
}

test("a list that takes longer than the patience of whoever asks for fresh ones is not begun anew", async (t) => {
  let pages = 0;
  const { client, clock, informer, relists } = await startSynced(t, thing("a", 3));
  client.onStream = (request) => {
    if (request.query?.["sendInitialEvents"] === true) throw new KubeError("invalid", "no WatchList");
  };
  // Twelve pages of 20 s each.
  client.onRequest = async ({ signal }) => {
    await pass(clock, 20_000, signal);
    return { metadata: { resourceVersion: "30", ...(++pages < 12 && { continue: "more" }) }, items: [] };
  };
  for (let round = 0; round < 5; round++) {
    informer.relist({ isPaced: true });
    await clock.advance(60_000);
  }
  assert.deepEqual([pages, informer.version(), informer.size, relists("requested")], [13, "30", 0, 2]);
});

test("over a link that is too slow for a WatchList, lists are complete in pages, at a minute an hour", async (t) => {
  const pagesOfAList = 15;
  let page = 0;
  let lists = 0;
  const { client, clock, informer } = start(t, (scripted, clock) => {
    scripted.onRequest = async ({ signal }) => {
      await pass(clock, 10_000, signal);
      page = (page + 1) % pagesOfAList;
      if (page === 0) lists++;
      return { metadata: { resourceVersion: "30", ...(page > 0 && { continue: "more" }) }, items: [thing("a", 3)] };
    };
  });
  for (let second = 0; second < 3 * 3_600; second++) {
    const stream = client.streams.at(-1);
    if (stream !== undefined && !stream.closed) stream.send(added(thing(`t${second}`, 31 + second)));
    if (second % 60 === 0) informer.relist({ isPaced: true });
    await clock.advance(1_000);
  }
  const watchLists = client.streams.filter(({ request }) => request.query?.["sendInitialEvents"] === true);
  assert.equal(watchLists.length, 4, "two at first, then one an hour");
  assert.ok(lists >= 45 && lists <= 70, `${lists} lists in three hours`);
});

test("pages that have no end are given up after a quarter of an hour, which is told", async (t) => {
  let pages = 0;
  const { clock, informer, logger } = start(t, (scripted, clock) => {
    scripted.onStream = () => {
      throw new KubeError("invalid", "no WatchList");
    };
    scripted.onRequest = async ({ signal }) => {
      pages++;
      await pass(clock, 20_000, signal);
      return { metadata: { resourceVersion: "30", continue: "more" }, items: [thing("a", 3)] };
    };
  });
  await clock.advance(900_000);
  assert.ok(pages >= 44 && pages <= 46, `${pages} pages`);
  assert.match(informer.lastError() ?? "", /^cannot list things: .*no end for 15 minutes/);
  const lines = logger.entries.filter(({ level }) => level === "warn");
  assert.deepEqual(
    lines.map(({ fields }) => fields["kind"]),
    ["timeout"],
  );
});

test("a server without WatchList is asked for one once an hour, which is said once and is no failure", async (t) => {
  let asked = 0;
  const { client, clock, informer, logger } = start(t, (scripted) => {
    scripted.onStream = ({ query }) => {
      if (query?.["sendInitialEvents"] !== true) return;
      asked++;
      throw new KubeError("invalid", "no WatchList");
    };
    scripted.onRequest = () => ({ metadata: { resourceVersion: "30" }, items: [thing("a", 3)] });
  });
  for (let minute = 0; minute < 180; minute++) {
    await clock.advance(60_000);
    client.stream0().send(bookmark(31));
    informer.relist({ isPaced: true });
    assert.equal(informer.lastError(), undefined);
  }
  assert.equal(asked, 3);
  const lines = logger.entries.filter(({ level }) => level === "warn" || level === "info");
  assert.deepEqual(
    lines.map(({ message }) => message),
    ["The server offers no WatchList, listing in pages"],
  );
});

test("bytes that are no frames keep no watch alive", async (t) => {
  const { client, clock } = await startSynced(t, thing("a", 3));
  const stream = client.stream0();
  for (let second = 0; !stream.closed; second += 10) {
    stream.sendText("\n");
    await clock.advance(10_000);
  }
  assert.equal(clock.monotonicMs(), 150_000);
});

test("a watch that the server does not end goes on from its version half a minute later", async (t) => {
  const { client, clock, informer, logger } = await startSynced(t, thing("a", 3));
  const stream = client.stream0();
  const timeoutMs = 1_000 * Number(stream.request.query?.["timeoutSeconds"]);
  for (let version = 11; !stream.closed; version++) {
    stream.send(modified(thing("a", version)));
    await clock.advance(1_000);
  }
  assert.equal(clock.monotonicMs(), timeoutMs + 30_000);
  assert.equal(client.streams.length, 2);
  assert.equal(client.stream0().request.query?.["resourceVersion"], informer.version());
  assert.deepEqual(client.requests, [], "no look at the version");
  assert.ok(logger.entries.every(({ level }) => level !== "warn"));
});

test("streams that are cut before a bookmark is due lead to a list before five minutes are over", async (t) => {
  for (const way of ["end", "network"] as const) {
    const { client, clock, informer, relists } = await startSynced(t, thing("a", 3));
    let oldestMs = 0;
    while (relists("silent") === 0) {
      const stream = client.stream0();
      await clock.advance(50_000);
      if (way === "end") stream.end();
      else stream.fail("network");
      for (let ms = 0; ms < 30_000 && client.stream0() === stream; ms += 100) await clock.advance(100);
      oldestMs = Math.max(oldestMs, informer.stalenessMs());
    }
    assert.ok(oldestMs >= 180_000 && oldestMs < 290_000, `${way}: ${oldestMs} ms`);
    assert.equal(client.stream0().request.query?.["sendInitialEvents"], true);
  }
});

test("a server that breaks off what it accepts, for minutes, is not listed for that", async (t) => {
  const { client, clock, relists } = await startSynced(t, thing("a", 3));
  while (clock.monotonicMs() < 600_000) {
    client.stream0().fail("network");
    await clock.advance(2_000);
  }
  assert.equal(relists("silent"), 0);
});

test("a kind in which nothing happens, of a server that sends no bookmarks, is listed now and then", async (t) => {
  const { client, clock, informer, logger, relists, takeLog } = await startSynced(t, thing("a", 3));
  let oldestMs = 0;
  while (relists("silent") < 10) {
    await clock.advance(1_000);
    oldestMs = Math.max(oldestMs, informer.stalenessMs());
    const stream = client.stream0();
    const isList = stream.request.query?.["sendInitialEvents"] === true;
    if (isList && !stream.closed && informer.lastError() !== undefined)
      stream.send(added(thing("a", 3)), bookmark(10, true));
  }
  assert.ok(oldestMs > 240_000 && oldestMs < 280_000, `news of ${oldestMs} ms ago`);
  assert.deepEqual([...new Set(takeLog())], ["progress 10", "listed again"]);
  assert.ok(logger.entries.every(({ level }) => level !== "warn"));
});
