/** A server whose storage was restored from a backup while a watch was away: its versions begin again below ours. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { drainMicrotasks } from "../../../support/virtual-clock.ts";
import { added, bookmark, errorEvent, modified, startSynced, thing } from "./reflector-rig.ts";

test("a server below the version of a broken watch was restored: a list shows missed deletions", async (t) => {
  const { client, server, informer, takeLog, passBackoff, relists } = await startSynced(
    t,
    thing("a", 9),
    thing("undone", 8),
  );
  client.stream0().fail("network");
  server.version = 5;
  await passBackoff();
  assert.equal(relists("gone"), 1);
  assert.equal(client.streams.length, 2, "no watch from a version of the former history");
  assert.equal(client.stream0().request.query?.["sendInitialEvents"], true);
  assert.equal(informer.size, 2, "the old content stays until the list is complete");
  client.stream0().send(added(thing("a", 2)), bookmark(5, true), modified(thing("a", 6)));
  await drainMicrotasks();
  assert.deepEqual(takeLog(), [
    "absent ns/undone@8",
    "modified ns/a@9 -> ns/a@2",
    "progress 5",
    "listed again",
    "modified ns/a@2 -> ns/a@6",
    "progress 6",
  ]);
  assert.equal(informer.lastError(), undefined);
});

test("a server at the version of a broken watch is asked once, on a new connection; the watch continues", async (t) => {
  const { client, server, passBackoff, relists } = await startSynced(t, thing("a", 3));
  for (const [break_, version] of [
    [() => client.stream0().fail("network"), 10],
    [() => client.stream0().sendText("{garbage}\n"), 11],
    [() => client.stream0().send(errorEvent(500, "InternalError")), 12],
  ] as const) {
    client.requests.splice(0);
    server.version = version;
    break_();
    await passBackoff();
    assert.deepEqual(
      client.requests.map(({ path, query, newConnection }) => ({ path, query, newConnection })),
      [{ path: "/apis/test.io/v1/things", query: { limit: 1 }, newConnection: true }],
    );
    assert.equal(client.stream0().request.query?.["resourceVersion"], String(version));
    client.stream0().send(bookmark(version + 1));
    await drainMicrotasks();
  }
  assert.equal(relists("gone") + relists("corrupt"), 0);
});

test("a watch that the server ended in good order, or that continues a list, asks for no version", async (t) => {
  const { client, server, clock } = await startSynced(t, thing("a", 3));
  server.version = 5;
  for (let reconnect = 0; reconnect < 3; reconnect++) {
    await clock.advance(140_000);
    client.stream0().send(bookmark(11));
    await clock.advance(140_000);
    client.stream0().end();
    await drainMicrotasks();
  }
  assert.equal(client.streams.length, 4);
  assert.deepEqual(client.requests, []);
});

test("while the server's version is unknown no watch is opened, and errors make the pauses grow", async (t) => {
  for (const [kind, pauseMsMax] of [
    ["network", 5_000],
    ["timeout", 5_000],
    ["serverError", 30_000],
    ["forbidden", 30_000],
    ["tooManyRequests", 30_000],
  ] as const) {
    const { client, server, clock, informer, takeLog, relists, passBackoff } = await startSynced(t, thing("a", 3));
    const answer = client.onRequest;
    const askedAtMs: number[] = [];
    client.onRequest = () => {
      askedAtMs.push(clock.monotonicMs());
      throw new KubeError(kind, "no answer");
    };
    client.stream0().fail("network");
    await clock.advance(600_000);
    assert.equal(client.streams.length, 1, kind);
    assert.match(informer.lastError() ?? "", /^cannot watch things: no answer/);
    const pauses = askedAtMs.slice(1).map((atMs, index) => atMs - (askedAtMs[index] ?? 0));
    assert.ok(Math.max(...pauses) <= pauseMsMax && Math.max(...pauses) > pauseMsMax / 2, `${kind}: ${pauses.join()}`);
    // What is not known is still looked for.
    server.version = 5;
    client.onRequest = answer;
    while (client.streams.length === 1) await passBackoff();
    assert.equal(relists("gone"), 1, kind);
    assert.deepEqual(takeLog(), []);
  }
});

test("an answer that cannot be read does not make the doubt go away", async (t) => {
  const { client, server, clock, informer, passBackoff, relists } = await startSynced(t, thing("a", 3));
  const answer = client.onRequest;
  client.onRequest = () => ({ kind: "Strange" });
  client.stream0().fail("network");
  await clock.advance(700);
  assert.match(informer.lastError() ?? "", /not a list/);
  client.onRequest = answer;
  server.version = 5;
  await passBackoff();
  assert.equal(client.streams.length, 2);
  assert.equal(relists("gone"), 1);
});

test("relist() while the server is asked for its version lists at once what it holds", async (t) => {
  const { client, informer, passBackoff, relists } = await startSynced(t, thing("a", 3));
  client.onRequest = (request) =>
    new Promise((_, reject) => request.signal?.addEventListener("abort", () => reject(new KubeError("aborted", ""))));
  client.stream0().fail("network");
  await passBackoff();
  informer.relist();
  await passBackoff();
  assert.equal(relists("requested"), 1);
  assert.equal(client.stream0().request.query?.["sendInitialEvents"], true);
});
