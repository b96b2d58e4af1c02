import assert from "node:assert/strict";
import test from "node:test";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { drainMicrotasks } from "../../support/virtual-clock.ts";
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
