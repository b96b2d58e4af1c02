import assert from "node:assert/strict";
import { test } from "node:test";
import { objectKey } from "../../../../src/api/object-key.ts";
import { KubeError, type KubeErrorKind, type KubeRequest } from "../../../../src/kube/kube-client.ts";
import { drainMicrotasks } from "../../../support/virtual-clock.ts";
import { added, bookmark, create, deleted, errorEvent, modified, start, startSynced, thing } from "./reflector-rig.ts";

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
  assert.equal(informer.stalenessMs(), Number.POSITIVE_INFINITY);
  assert.deepEqual(takeLog(), []);

  client.stream0().send(bookmark(10, true));
  await drainMicrotasks();
  assert.deepEqual(takeLog(), ["added ns/a@3", "added ns/b@4", "progress 10", "listed first"]);
  assert.equal(informer.hasSynced(), true);
  assert.equal(informer.version(), "10");
  assert.equal(informer.get(objectKey("ns", "a"))?.resourceVersion, "3");
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

test("in a handler the store has changed already, and the version has not moved yet", async (t) => {
  const { client, informer: other, run } = create();
  const seen: unknown[] = [];
  other.subscribe({
    onEvent: (event) =>
      void seen.push([
        event.type,
        other.get(objectKey("ns", "a"))?.resourceVersion,
        other.version(),
        other.hasSynced(),
      ]),
  });
  const { stop, running } = run(t);
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
  test(`a server that refuses WatchList with ${code} is listed in pages at once, without a warning`, async (t) => {
    const { client, informer, logger, takeLog, relists, passBackoff } = start(t, (scripted) => {
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
    const lines = logger.entries.filter(({ level }) => level === "warn" || level === "info");
    const texts = lines.map(({ level, message, fields }) => [level, message, fields["kind"]]);
    assert.deepEqual(texts[0], ["info", "The server offers no WatchList, listing in pages", "invalid"]);
    assert.ok(lines.slice(1).every(({ fields }) => fields["kind"] === "gone" || fields["kind"] === undefined));
  });
}

test("a page that comes too late restarts the list", async (t) => {
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

test("a list whose later pages always come too late is restarted with growing pauses, never synced", async (t) => {
  const begun: number[] = [];
  const { client, clock, informer } = start(t, (scripted, clock) => {
    scripted.onStream = () => {
      throw new KubeError("invalid", "no WatchList");
    };
    scripted.onRequest = ({ query }) => {
      if (query?.["continue"] === undefined) {
        begun.push(clock.monotonicMs());
        return { metadata: { resourceVersion: "30", continue: "more" }, items: [thing("half", 3)] };
      }
      // Real servers offer to go on with newer pages. Those would not fit the first one.
      const status = { kind: "Status", code: 410, reason: "Expired", metadata: { continue: "inconsistent" } };
      throw new KubeError("gone", "the continue token is too old", { code: 410, status });
    };
  });
  await clock.advance(600_000);
  assert.ok(begun.length >= 20 && begun.length < 80, `${begun.length} lists in 10 minutes`);
  assert.ok(client.requests.every(({ query }) => query?.["continue"] !== "inconsistent"));
  const gaps = begun.slice(1).map((time, index) => time - begun[index]!);
  assert.ok(Math.max(...gaps) > 15_000 && Math.max(...gaps) <= 30_000, `a pause of ${Math.max(...gaps)} ms`);
  assert.equal(informer.hasSynced(), false);
  assert.equal(informer.size, 0);
});

test("a list cut within its pages is restarted with growing pauses, one that never begins every 2.5 s", async (t) => {
  const attemptsWith = async (continueToken: string | undefined): Promise<number> => {
    let attempts = 0;
    const { clock } = start(t, (scripted) => {
      scripted.onStream = () => {
        throw new KubeError("invalid", "no WatchList");
      };
      scripted.onRequest = ({ query }) => {
        if (query?.["continue"] === undefined) attempts++;
        if (query?.["continue"] === continueToken) throw new KubeError("network", "reset");
        return { metadata: { resourceVersion: "30", continue: "more" }, items: [thing("half", 3)] };
      };
    });
    await clock.advance(600_000);
    return attempts;
  };
  const [cut, refused] = [await attemptsWith("more"), await attemptsWith(undefined)];
  assert.ok(cut > 30 && cut < 60, `${cut} attempts`);
  assert.ok(refused > 200 && refused < 280, `${refused} attempts`);
});

test("a WatchList that ends, breaks or stalls before its end mark is followed by a paged list", async (t) => {
  for (const finish of ["end", "timeout", "network", "malformed"] as const) {
    const { client, takeLog, informer, passBackoff } = start(t, (scripted) => {
      scripted.onRequest = () => ({ metadata: { resourceVersion: "30" }, items: null });
    });
    await drainMicrotasks();
    client.stream0().send(added(thing("a", 3)));
    if (finish === "end") client.stream0().end();
    else client.stream0().fail(finish);
    await drainMicrotasks();
    assert.match(informer.lastError() ?? "", /^cannot list things: /);
    assert.equal(informer.hasSynced(), false);
    await passBackoff();
    assert.deepEqual(takeLog(), ["progress 30", "listed first"], "an empty list is a list");
    assert.equal(informer.lastError(), undefined);
  }
});

test("a WatchList that does not come about is tried again as such", async (t) => {
  const { client, passBackoff } = start(t, (scripted) => {
    scripted.onStream = () => {
      throw new KubeError("network", "refused");
    };
  });
  await drainMicrotasks();
  client.onStream = () => undefined;
  await passBackoff();
  assert.equal(client.requests.length, 0);
  assert.equal(client.stream0().request.query?.["sendInitialEvents"], true);
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

test("an outage is told when it begins, when it fails in another way, and when it is over", async (t) => {
  let kind: KubeErrorKind | undefined = "network";
  const check = (): void => {
    if (kind !== undefined) throw new KubeError(kind, `GET /things: ${kind}`);
  };
  const { client, clock, logger, passBackoff } = start(t, (scripted) => {
    scripted.onStream = check;
    scripted.onRequest = check;
  });
  await clock.advance(300_000);
  kind = "timeout";
  await clock.advance(300_000);
  kind = "serverError";
  await clock.advance(300_000);
  kind = undefined;
  await passBackoff();
  client.stream0().send(bookmark(10, true));
  const lines = logger.entries.filter(({ level }) => level === "warn" || level === "info");
  assert.deepEqual(
    lines.map(({ message, fields }) => [message, fields["kind"]]),
    [
      ["Failed to list or watch, retrying", "network"],
      ["Failed to list or watch, retrying", "serverError"],
      ["Listing and watching again", undefined],
    ],
  );
  const { informer, cluster, lastedSeconds } = lines.at(-1)?.fields ?? {};
  assert.deepEqual([informer, cluster], ["things", "test"]);
  assert.ok(Number(lastedSeconds) >= 900 && Number(lastedSeconds) <= 931, String(lastedSeconds));
});

test("a missing right to list is said once, and once more when it was there in between", async (t) => {
  let isAllowed = false;
  const check = (): void => {
    if (!isAllowed) throw new KubeError("forbidden", "403 Forbidden: no", { code: 403 });
  };
  const { client, clock, logger, passBackoff } = start(t, (scripted) => {
    scripted.onStream = check;
    scripted.onRequest = check;
  });
  const warnings = (): number => logger.entries.filter(({ level }) => level === "warn").length;
  await clock.advance(600_000);
  assert.equal(warnings(), 1);
  isAllowed = true;
  await passBackoff();
  client.stream0().send(bookmark(10, true));
  isAllowed = false;
  client.stream0().fail("forbidden");
  await clock.advance(600_000);
  assert.equal(warnings(), 2);
});
