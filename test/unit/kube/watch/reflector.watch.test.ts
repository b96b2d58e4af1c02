import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { drainMicrotasks } from "../../../support/virtual-clock.ts";
import { thing, bookmark, added, modified, deleted, errorEvent, startSynced } from "./reflector-rig.ts";

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

test("a watch that ends at once with nothing but repeated events is not opened again without a pause", async (t) => {
  const { client, clock } = await startSynced(t, thing("a", 3));
  client.onStream = () => {
    queueMicrotask(() => {
      client.stream0().send(modified(thing("a", 9)), bookmark(10));
      client.stream0().end();
    });
  };
  await clock.advance(5_000);
  client.stream0().end();
  await clock.advance(60_000);
  const watches = client.streams.length - 1;
  assert.ok(watches >= 2 && watches < 20, `${watches} watches in a minute`);
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

test("a watch that was broken catches up until it delivers something again", async (t) => {
  const { client, informer, passBackoff } = await startSynced(t, thing("a", 3));
  assert.equal(informer.isCatchingUp(), false);
  client.stream0().fail("network");
  await drainMicrotasks();
  await passBackoff();
  assert.deepEqual([informer.lastError(), informer.isCatchingUp()], [undefined, true]);
  client.stream0().send(bookmark(12));
  await drainMicrotasks();
  assert.equal(informer.isCatchingUp(), false);
});

/**
 * Lets every attempt fail for `outageMs`; resolves to the pauses between attempts and how long it took then until the
 * watch was back.
 */
async function sitOut(t: TestContext, error: KubeError, outageMs: number): Promise<{ gaps: number[]; backMs: number }> {
  const { client, clock } = await startSynced(t, thing("a", 3));
  const attempts = [clock.monotonicMs()];
  client.onStream = () => {
    attempts.push(clock.monotonicMs());
    throw error;
  };
  client.stream0().fail("network");
  await clock.advance(outageMs);
  client.onStream = () => undefined;
  const endMs = clock.monotonicMs();
  while (client.streams.length === 1) await clock.advance(100);
  return {
    gaps: attempts.slice(1).map((atMs, index) => atMs - (attempts[index] ?? 0)),
    backMs: clock.monotonicMs() - endMs,
  };
}

for (const [what, error] of [
  ["refuses connections", new KubeError("network", "connection refused")],
  ["does not know the token", new KubeError("unauthorized", "no", { code: 401 })],
] as const) {
  test(`a watch is back within 5 s after a server that ${what} for ten minutes, asked every 2.5 s`, async (t) => {
    const { gaps, backMs } = await sitOut(t, error, 600_000);
    assert.ok(backMs <= 5_100, `back after ${backMs} ms`);
    assert.ok(
      gaps.every((gap) => gap <= 5_000),
      `a pause of ${Math.max(...gaps)} ms`,
    );
    assert.ok(gaps.length > 200 && gaps.length < 280, `${gaps.length} attempts`);
  });
}

test("a server that answers with errors is asked every 15 s on average", async (t) => {
  for (const kind of ["serverError", "tooManyRequests", "forbidden"] as const) {
    const { gaps } = await sitOut(t, new KubeError(kind, "sick"), 600_000);
    assert.ok(
      gaps.every((gap) => gap <= 30_000),
      `a pause of ${Math.max(...gaps)} ms`,
    );
    assert.ok(Math.max(...gaps) > 20_000, `no pause above ${Math.max(...gaps)} ms`);
    assert.ok(gaps.length > 30 && gaps.length < 60, `${gaps.length} attempts`);
  }
});

test("a server that was down for long and answers first with an error is asked again within 5 s", async (t) => {
  const { client, clock } = await startSynced(t);
  const attempt = Promise.withResolvers<void>();
  let isAway = true;
  client.onStream = () => {
    if (isAway) throw new KubeError("network", "connection refused");
    client.onStream = () => undefined;
    attempt.resolve();
    throw new KubeError("serverError", "just starting");
  };
  client.stream0().fail("network");
  await clock.advance(600_000);
  isAway = false;
  await Promise.all([attempt.promise, clock.advance(clock.nextTimerInMs ?? 0)]);
  await clock.advance(5_000);
  assert.equal(client.streams.length, 2);
});

/** Milliseconds until the watch is opened again after an answer that asks for `retryAfterMs`. */
async function pauseAfter(t: TestContext, retryAfterMs: number): Promise<number> {
  const { client, clock } = await startSynced(t);
  client.onStream = () => {
    throw new KubeError("tooManyRequests", "busy", { code: 429, retryAfterMs });
  };
  await clock.advance(2_000);
  client.stream0().end();
  await drainMicrotasks();
  client.onStream = () => undefined;
  const startMs = clock.monotonicMs();
  while (client.streams.length === 1) await clock.advance(10);
  return clock.monotonicMs() - startMs;
}

test("the server's Retry-After is respected and jittered, so that not all clients come back at once", async (t) => {
  const pauseMs = await pauseAfter(t, 40_000);
  assert.ok(pauseMs > 40_050 && pauseMs <= 40_810, `after ${pauseMs} ms`);
});

test("a Retry-After of an hour is a minute", async (t) => {
  const pauseMs = await pauseAfter(t, 3_600_000);
  assert.ok(pauseMs >= 60_000 && pauseMs <= 60_810, `after ${pauseMs} ms`);
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
    assert.deepEqual(takeLog(), reason === "notFound" ? ["not served"] : []);
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
      "absent ns/gone@5",
      "absent ns/replaced@6",
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
  assert.deepEqual(takeLog(), ["absent ns/a@3", "added ns/a@11", "progress 11"]);
});

test("handlers are told each time that the server does not know the resource, and no object is dropped", async (t) => {
  const { client, informer, takeLog, passBackoff } = await startSynced(t, thing("a", 3));
  client.stream0().send(errorEvent(404, "NotFound"));
  await passBackoff();
  client.stream0().fail("notFound");
  await passBackoff();
  assert.deepEqual(takeLog(), ["not served", "not served"]);
  assert.equal(informer.size, 1);
  assert.equal(informer.hasSynced(), true);
});

test("handlers are told each time that the resource is forbidden, and no object is dropped", async (t) => {
  const { client, informer, refusals, passBackoff } = await startSynced(t, thing("a", 3));
  client.stream0().send(errorEvent(403, "Forbidden"));
  await passBackoff();
  client.stream0().fail("forbidden");
  await passBackoff();
  assert.equal(refusals(), 2);
  assert.equal(informer.size, 1);
});
