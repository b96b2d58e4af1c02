import assert from "node:assert/strict";
import test from "node:test";
import { parseResourceVersion, type ResourceVersion } from "../../../src/api/resource-version.ts";
import { type InformerEvent, type Stored } from "../../../src/kube/informer.ts";
import { KubeError, type KubeRequest } from "../../../src/kube/kube-client.ts";
import { createInformer } from "../../../src/kube/watch/index.ts";
import { silentLogger } from "../../../src/util/logger.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { createVirtualClock, drainMicrotasks, type VirtualClock } from "../../support/virtual-clock.ts";
import { createCountingMetrics } from "../counting-metrics.ts";
import { createScriptedKubeClient, type ScriptedKubeClient } from "../scripted-kube-client.ts";

interface Thing extends Stored {
  readonly value: string;
}

function thing(name: string, version: number, value = "", uid = `uid-${name}`): unknown {
  return { metadata: { namespace: "ns", name, uid, resourceVersion: String(version) }, value };
}

function decode(raw: unknown): Thing | undefined {
  const { metadata, value } = raw as {
    metadata: { namespace: string; name: string; uid: string; resourceVersion: string };
    value: string;
  };
  if (value === "undecodable") return undefined;
  return {
    key: `${metadata.namespace}/${metadata.name}`,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion as ResourceVersion,
    value,
  };
}

const bookmark = (version: number, end = false): unknown => ({
  type: "BOOKMARK",
  object: {
    metadata: {
      resourceVersion: String(version),
      ...(end && { annotations: { "k8s.io/initial-events-end": "true" } }),
    },
  },
});
const added = (object: unknown): unknown => ({ type: "ADDED", object });
const modified = (object: unknown): unknown => ({ type: "MODIFIED", object });
const deleted = (object: unknown): unknown => ({ type: "DELETED", object });
const errorEvent = (code: number, reason: string, causes: unknown[] = []): unknown => ({
  type: "ERROR",
  object: { kind: "Status", code, reason, message: "scripted", details: { causes } },
});

const versionOf = (text: string): ResourceVersion => parseResourceVersion(text)!;

function describe(event: InformerEvent<Thing>): string {
  const object = `${event.object.key}@${event.object.resourceVersion}`;
  if (event.type === "modified") return `modified ${event.previous.key}@${event.previous.resourceVersion} -> ${object}`;
  if (event.type === "deleted" && event.finalStateUnknown) return `deleted ${object} (final state unknown)`;
  return `${event.type} ${object}`;
}

/** An informer of things on a scripted client, running until the test ends. */
function start(
  t: { after(end: () => Promise<void>): void },
  prepare?: (client: ScriptedKubeClient, clock: VirtualClock) => void,
) {
  const clock = createVirtualClock();
  const client = createScriptedKubeClient();
  prepare?.(client, clock);
  const metrics = createCountingMetrics();
  const informer = createInformer<Thing>({
    client,
    resource: { group: "test.io", version: "v1", resource: "things" },
    labelSelector: "app=x",
    decode,
    clock,
    rng: createSeededRng(1),
    logger: silentLogger,
    metrics,
    name: "things",
  });
  const log: string[] = [];
  informer.subscribe({
    onEvent: (event) => void log.push(describe(event)),
    onProgress: (version) => void log.push(`progress ${version}`),
    onListed: (first) => void log.push(`listed ${first ? "first" : "again"}`),
  });
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await running;
    assert.equal(clock.pendingTimers, 0, "timers are left after stop");
  });
  const takeLog = (): string[] => log.splice(0);
  /** Enough for every backoff. */
  const passBackoff = (): Promise<void> => clock.advance(31_000);
  const relists = (reason: string): number =>
    metrics.value("kube_informer_relists_total", { cluster: "test", informer: "things", reason });
  return { clock, client, metrics, informer, log, takeLog, stop, running, passBackoff, relists };
}

/** Like `start`, with `things` listed by a WatchList at version 10. */
async function startSynced(t: Parameters<typeof start>[0], ...things: readonly unknown[]) {
  const setup = start(t);
  await drainMicrotasks();
  setup.client.stream0().send(...things.map(added), bookmark(10, true));
  await drainMicrotasks();
  assert.equal(setup.informer.hasSynced(), true);
  setup.takeLog();
  return setup;
}

test("the initial objects are streamed, and nothing is shown before the end mark", async (t) => {
  const { client, informer, takeLog } = start(t);
  await drainMicrotasks();
  const { query, path } = client.stream0().request;
  assert.equal(path, "/apis/test.io/v1/things");
  assert.equal(query?.["sendInitialEvents"], true);
  assert.equal(query?.["resourceVersionMatch"], "NotOlderThan");
  assert.equal(query?.["allowWatchBookmarks"], true);
  assert.equal(query?.["resourceVersion"], undefined);
  assert.equal(query?.["labelSelector"], "app=x");
  const seconds = Number(query?.["timeoutSeconds"]);
  assert.ok(seconds >= 261 && seconds <= 319, `timeoutSeconds ${seconds}`);

  client.stream0().send(added(thing("a", 3)), added(thing("b", 4)), bookmark(5));
  await drainMicrotasks();
  assert.equal(informer.hasSynced(), false);
  assert.equal(informer.size, 0);
  assert.equal(informer.version(), undefined);
  assert.equal(informer.silentMs(), Number.POSITIVE_INFINITY);
  assert.deepEqual(takeLog(), []);

  client.stream0().send(bookmark(10, true));
  await drainMicrotasks();
  assert.deepEqual(takeLog(), ["added ns/a@3", "added ns/b@4", "progress 10", "listed first"]);
  assert.equal(informer.hasSynced(), true);
  assert.equal(informer.version(), "10");
  assert.equal(informer.get("ns/a")?.resourceVersion, "3");
  assert.equal([...informer.values()].length, 2);
});

test("an object that changes or goes between the initial events is shown as it ends", async (t) => {
  const { client, takeLog } = start(t);
  await drainMicrotasks();
  client.stream0().send(added(thing("a", 3)), added(thing("b", 4)), modified(thing("a", 6)), deleted(thing("b", 7)));
  client.stream0().send(bookmark(10, true));
  await drainMicrotasks();
  assert.deepEqual(takeLog(), ["added ns/a@6", "progress 10", "listed first"]);
});

test("events after the end mark are applied in order, with the previous object", async (t) => {
  const { client, informer, takeLog } = await startSynced(t, thing("a", 3), thing("b", 4));
  client.stream0().send(modified(thing("a", 11)), added(thing("c", 12)), deleted(thing("b", 13)), bookmark(20));
  await drainMicrotasks();
  assert.deepEqual(takeLog(), [
    "modified ns/a@3 -> ns/a@11",
    "progress 11",
    "added ns/c@12",
    "progress 12",
    "deleted ns/b@13",
    "progress 13",
    "progress 20",
  ]);
  assert.equal(informer.version(), "20");
  assert.equal(informer.size, 2);
});

test("in a handler the store has changed already, and the version has not moved yet", async () => {
  const client = createScriptedKubeClient();
  const seen: unknown[] = [];
  const stop = new AbortController();
  const other = createInformer<Thing>({
    client,
    resource: { group: "", version: "v1", resource: "pods" },
    decode,
    clock: createVirtualClock(),
    rng: createSeededRng(1),
    logger: silentLogger,
    metrics: createCountingMetrics(),
    name: "pods",
  });
  other.subscribe({
    onEvent: (event) =>
      void seen.push([event.type, other.get("ns/a")?.resourceVersion, other.version(), other.hasSynced()]),
  });
  const running = other.run(stop.signal);
  await drainMicrotasks();
  client.stream0().send(added(thing("a", 3)), bookmark(10, true), modified(thing("a", 11)), deleted(thing("a", 12)));
  await drainMicrotasks();
  stop.abort();
  await running;
  assert.deepEqual(seen, [
    ["added", "3", undefined, false],
    ["modified", "11", "10", true],
    ["deleted", undefined, "11", true],
  ]);
});

for (const code of [400, 422]) {
  test(`a server that refuses WatchList with ${code} is listed in pages at once, and is not asked again`, async (t) => {
    const { client, informer, takeLog, relists, passBackoff } = start(t, (scripted) => {
      scripted.onStream = (request: KubeRequest) => {
        if (request.query?.["sendInitialEvents"] === true)
          throw new KubeError("invalid", "no WatchList here", { code });
      };
      scripted.onRequest = ({ query }) =>
        query?.["continue"] === undefined
          ? { metadata: { resourceVersion: "30", continue: "more" }, items: [thing("a", 3)] }
          : { metadata: { resourceVersion: "30" }, items: [thing("b", 4)] };
    });
    await drainMicrotasks();
    assert.deepEqual(
      client.requests.map(({ query }) => [query?.["limit"], query?.["continue"], query?.["labelSelector"]]),
      [
        [500, undefined, "app=x"],
        [500, "more", "app=x"],
      ],
    );
    assert.deepEqual(takeLog(), ["added ns/a@3", "added ns/b@4", "progress 30", "listed first"]);
    assert.equal(client.stream0().request.query?.["resourceVersion"], "30");

    client.stream0().send(errorEvent(410, "Expired"));
    await passBackoff();
    assert.equal(relists("gone"), 1);
    assert.equal(client.requests.length, 4);
    assert.equal(client.streams.length, 2, "no further WatchList was tried");
    assert.equal(informer.version(), "30");
  });
}

test("a page that comes too late starts the list anew", async (t) => {
  let rounds = 0;
  const { client, takeLog, informer, clock, passBackoff } = start(t, (scripted) => {
    scripted.onStream = (request) => {
      if (request.query?.["sendInitialEvents"] === true) throw new KubeError("invalid", "no WatchList");
    };
    scripted.onRequest = ({ query }) => {
      if (query?.["continue"] === undefined) {
        rounds++;
        return rounds === 1
          ? { metadata: { resourceVersion: "30", continue: "more" }, items: [thing("half", 3)] }
          : { metadata: { resourceVersion: "40" }, items: [thing("a", 35)] };
      }
      throw new KubeError("gone", "the continue token is too old", { code: 410 });
    };
  });
  await drainMicrotasks();
  assert.deepEqual(takeLog(), []);
  assert.match(informer.lastError() ?? "", /^cannot list things: .*too old/);
  assert.equal(clock.pendingTimers, 1);
  await passBackoff();
  assert.deepEqual(takeLog(), ["added ns/a@35", "progress 40", "listed first"]);
  assert.equal(client.streams.length, 1);
});

test("a WatchList that ends or falls silent before its end mark is followed by a paged list", async (t) => {
  for (const finish of ["end", "timeout"] as const) {
    const { client, takeLog, informer, passBackoff } = start(t, (scripted) => {
      scripted.onRequest = () => ({ metadata: { resourceVersion: "30" }, items: null });
    });
    await drainMicrotasks();
    client.stream0().send(added(thing("a", 3)));
    if (finish === "end") client.stream0().end();
    else client.stream0().fail("timeout");
    await drainMicrotasks();
    assert.match(informer.lastError() ?? "", /^cannot list things: /);
    assert.equal(informer.hasSynced(), false);
    await passBackoff();
    assert.deepEqual(takeLog(), ["progress 30", "listed first"], "an empty list is a list");
    assert.equal(informer.lastError(), undefined);
  }
});

test("a failed first list is tried again with growing pauses, and never counts as synced", async (t) => {
  const times: number[] = [];
  const { clock, informer } = start(t, (scripted, clock) => {
    scripted.onStream = () => {
      times.push(clock.monotonicMs());
      throw new KubeError("forbidden", "GET /apis/test.io/v1/things: 403 Forbidden: no", { code: 403 });
    };
  });
  await clock.advance(600_000);
  assert.equal(informer.hasSynced(), false);
  assert.equal(informer.lastError(), "cannot list things: GET /apis/test.io/v1/things: 403 Forbidden: no");
  assert.ok(times.length >= 20 && times.length < 80, `${times.length} attempts in 10 minutes`);
  const gaps = times.slice(1).map((time, index) => time - times[index]!);
  assert.ok(gaps[0]! <= 800, `the first pause is ${gaps[0]} ms`);
  assert.ok(gaps.every((gap) => gap <= 30_000));
});

test("a clean end reconnects at once from the last version, and a repeated event is ignored", async (t) => {
  const { client, takeLog, clock } = await startSynced(t, thing("a", 3));
  client.stream0().send(modified(thing("a", 11)));
  await clock.advance(5_000);
  client.stream0().end();
  await drainMicrotasks();
  assert.equal(client.streams.length, 2);
  assert.equal(client.stream0().request.query?.["resourceVersion"], "11");
  assert.equal(client.stream0().request.query?.["sendInitialEvents"], undefined);
  takeLog();
  client.stream0().send(modified(thing("a", 11)), deleted(thing("a", 9)), bookmark(10), modified(thing("a", 12)));
  await drainMicrotasks();
  assert.deepEqual(takeLog(), ["modified ns/a@11 -> ns/a@12", "progress 12"]);
});

test("a watch that ends at once and empty is not opened again without a pause", async (t) => {
  const { client, clock } = await startSynced(t);
  client.stream0().end();
  await drainMicrotasks();
  const opened = client.streams.length;
  client.onStream = () => {
    queueMicrotask(() => client.stream0().end());
  };
  client.stream0().end();
  await clock.advance(60_000);
  const more = client.streams.length - opened;
  assert.ok(more >= 2 && more < 20, `${more} watches in a minute`);
});

test("a broken connection is resumed from the last version after a pause", async (t) => {
  for (const kind of ["network", "serverError", "timeout", "unauthorized", "forbidden", "tooManyRequests"] as const) {
    const { client, informer, passBackoff, log } = await startSynced(t, thing("a", 3));
    client.stream0().fail(kind);
    await drainMicrotasks();
    assert.match(informer.lastError() ?? "", /^cannot watch things: scripted/);
    assert.equal(client.streams.length, 1, kind);
    await passBackoff();
    assert.equal(client.streams.length, 2, kind);
    assert.equal(client.stream0().request.query?.["resourceVersion"], "10");
    assert.equal(informer.lastError(), undefined);
    assert.deepEqual(log, []);
  }
});

test("the server's Retry-After is respected", async (t) => {
  const { client, clock } = await startSynced(t);
  client.onStream = () => {
    throw new KubeError("tooManyRequests", "busy", { code: 429, retryAfterMs: 40_000 });
  };
  await clock.advance(2_000);
  client.stream0().end();
  await drainMicrotasks();
  client.onStream = () => undefined;
  await clock.advance(39_000);
  assert.equal(client.streams.length, 1);
  await clock.advance(1_500);
  assert.equal(client.streams.length, 2);
});

test("the idle deadline of a watch allows for two missing bookmarks", async (t) => {
  const { client } = await startSynced(t);
  assert.equal(client.stream0().idleTimeoutMs, 150_000);
});

const relistCases: readonly [string, string, unknown][] = [
  ["an expired version", "gone", errorEvent(410, "Expired")],
  [
    "a version that the server has not reached",
    "tooLarge",
    errorEvent(504, "Timeout", [{ reason: "ResourceVersionTooLarge" }]),
  ],
  ["a resource that was removed", "notFound", errorEvent(404, "NotFound")],
  ["a version that the server does not take", "invalid", errorEvent(400, "BadRequest")],
];
for (const [what, reason, event] of relistCases) {
  test(`${what} leads to a new list, which is swapped in at once`, async (t) => {
    const { client, informer, takeLog, passBackoff, relists } = await startSynced(
      t,
      thing("same", 3),
      thing("changed", 4),
      thing("gone", 5),
      thing("replaced", 6),
    );
    client.stream0().send(event);
    await passBackoff();
    assert.equal(relists(reason), 1);
    assert.equal(client.stream0().request.query?.["sendInitialEvents"], true);
    client.stream0().send(added(thing("same", 3)), added(thing("changed", 11)));
    await drainMicrotasks();
    assert.equal(informer.size, 4, "the old content stays until the list is complete");
    assert.equal(informer.hasSynced(), true);
    assert.equal(informer.version(), "10");
    client.stream0().send(added(thing("replaced", 12, "", "other-uid")), added(thing("new", 13)), bookmark(20, true));
    await drainMicrotasks();
    assert.deepEqual(takeLog(), [
      "deleted ns/gone@5 (final state unknown)",
      "deleted ns/replaced@6 (final state unknown)",
      "modified ns/changed@4 -> ns/changed@11",
      "added ns/replaced@12",
      "added ns/new@13",
      "progress 20",
      "listed again",
    ]);
  });
}

test("an object replaced under its name without a deletion in between is deleted, then added", async (t) => {
  const { client, takeLog } = await startSynced(t, thing("a", 3));
  client.stream0().send(modified(thing("a", 11, "", "other-uid")));
  await drainMicrotasks();
  assert.deepEqual(takeLog(), ["deleted ns/a@3 (final state unknown)", "added ns/a@11", "progress 11"]);
});

test("a corrupt stream is resumed from the last good version, and listed anew when it is corrupt there again", async (t) => {
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

test("relist() drops the watch, lists anew and keeps the store until the list has arrived", async (t) => {
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
    "deleted ns/b@8 (final state unknown)",
    "modified ns/a@9 -> ns/a@2",
    "progress 5",
    "listed again",
    "modified ns/a@2 -> ns/a@6",
    "progress 6",
  ]);
  assert.equal(informer.version(), versionOf("6"));
});

test("relist() during a pause or a list starts the list anew", async (t) => {
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
    "deleted ns/a@3 (final state unknown)",
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
  const client = createScriptedKubeClient();
  const clock = createVirtualClock();
  const informer = createInformer<Thing>({
    client,
    resource: { group: "", version: "v1", resource: "pods" },
    decode,
    clock,
    rng: createSeededRng(1),
    logger: silentLogger,
    metrics: createCountingMetrics(),
    name: "pods",
  });
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
  const client = createScriptedKubeClient();
  const informer = createInformer<Thing>({
    client,
    resource: { group: "", version: "v1", resource: "pods" },
    decode,
    clock: createVirtualClock(),
    rng: createSeededRng(1),
    logger: silentLogger,
    metrics: createCountingMetrics(),
    name: "pods",
  });
  await informer.run(AbortSignal.abort());
  assert.equal(client.streams.length + client.requests.length, 0);
});

test("a mistake in a handler ends the run instead of being taken for a broken watch", async () => {
  const client = createScriptedKubeClient();
  const informer = createInformer<Thing>({
    client,
    resource: { group: "", version: "v1", resource: "pods" },
    decode,
    clock: createVirtualClock(),
    rng: createSeededRng(1),
    logger: silentLogger,
    metrics: createCountingMetrics(),
    name: "pods",
  });
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

test("the silence grows until the next frame, and is a gauge", async (t) => {
  const { client, clock, informer, metrics } = await startSynced(t);
  const gauge = (): number => {
    metrics.scrape();
    return metrics.value("kube_informer_watch_silence_seconds", { cluster: "test", informer: "things" });
  };
  await clock.advance(42_000);
  assert.equal(informer.silentMs(), 42_000);
  assert.equal(gauge(), 42);
  client.stream0().send(bookmark(11));
  await drainMicrotasks();
  assert.equal(gauge(), 0);
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
  assert.equal(clock.pendingTimers, 0);
  assert.equal(informer.version(), "1010");
});
