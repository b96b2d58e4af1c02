import assert from "node:assert/strict";
import { test } from "node:test";
import { configMap, createTestCluster, mergePatch, record, refusal } from "./cluster.ts";
import { builtInResources as types } from "./engine/resources.ts";

const cm = types.configMaps;

test("a watch from a version delivers exactly what came after it, in order", async () => {
  const { engine } = await createTestCluster();
  const first = await engine.create(cm, "default", configMap("a"));
  await engine.patch(cm, "default", "a", mergePatch({ data: { k: "1" } }));
  const watch = record(engine, cm, { resourceVersion: first.metadata.resourceVersion });
  await engine.create(cm, "default", configMap("b"));
  await engine.delete(cm, "default", "a");
  assert.deepEqual(watch.lines(), ["MODIFIED a", "ADDED b", "DELETED a"]);
});

test("a DELETED event carries the last state under the version of the deletion", async () => {
  const { engine } = await createTestCluster();
  const before = await engine.create(cm, "default", configMap("a", { k: "1" }));
  const watch = record(engine, cm, { resourceVersion: before.metadata.resourceVersion });
  await engine.delete(cm, "default", "a");
  const [event] = watch.events;
  assert.equal(event?.type, "DELETED");
  assert.deepEqual(event.object["data"], { k: "1" });
  assert.equal(event.object.metadata.resourceVersion, String(engine.revision));
});

test("a watch without a version starts with the present objects", async () => {
  const { engine } = await createTestCluster();
  await engine.create(cm, "default", configMap("b"));
  await engine.create(cm, "default", configMap("a"));
  const watch = record(engine, cm, {});
  assert.deepEqual(watch.lines(), ["ADDED a", "ADDED b"]);
});

test("a WatchList ends its initial events with an annotated bookmark at the list's version", async () => {
  const { engine } = await createTestCluster();
  await engine.create(cm, "default", configMap("a"));
  const query = { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan", allowWatchBookmarks: true };
  const watch = record(engine, cm, query);
  assert.deepEqual(watch.lines(), ["ADDED a", `BOOKMARK ${engine.revision}`]);
  const { metadata } = watch.events[1]!.object as { metadata: { annotations: unknown } };
  assert.deepEqual(metadata.annotations, { "k8s.io/initial-events-end": "true" });
  assert.throws(() => record(engine, cm, { sendInitialEvents: true }), refusal(422, "resourceVersionMatch"));
});

test("an idle watch gets a bookmark once a minute, at the cluster's revision, only when it asked", async () => {
  const { engine, clock } = await createTestCluster();
  const resourceVersion = String(engine.revision);
  const asked = record(engine, cm, { allowWatchBookmarks: true, resourceVersion });
  const silent = record(engine, cm, { resourceVersion });
  await engine.create(types.secrets, "default", { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } });
  await clock.advance(59_999);
  assert.deepEqual(asked.lines(), []);
  await clock.advance(1);
  assert.deepEqual(asked.lines(), [`BOOKMARK ${engine.revision}`]);
  assert.deepEqual(silent.lines(), []);
});

test("a version that has left the history is answered by an Expired error event and the end", async () => {
  const { engine, clock } = await createTestCluster({ historyChangesMax: 2 });
  const first = await engine.create(cm, "default", configMap("a"));
  for (const k of ["1", "2", "3", "4", "5"]) await engine.patch(cm, "default", "a", mergePatch({ data: { k } }));
  const watch = record(engine, cm, { resourceVersion: first.metadata.resourceVersion });
  await clock.advance(0);
  assert.deepEqual(watch.lines(), ["ERROR Expired"]);
  assert.equal(watch.ended(), true);
});

test("a forgotten history expires every earlier version but not the present one", async () => {
  const { engine, clock } = await createTestCluster();
  const first = await engine.create(cm, "default", configMap("a"));
  await engine.create(cm, "default", configMap("b"));
  engine.forgetHistory();
  const old = record(engine, cm, { resourceVersion: first.metadata.resourceVersion });
  const present = record(engine, cm, { resourceVersion: String(engine.revision) });
  await engine.create(cm, "default", configMap("c"));
  await clock.advance(0);
  assert.deepEqual(old.lines(), ["ERROR Expired"]);
  assert.deepEqual(present.lines(), ["ADDED c"]);
});

test("an object that enters or leaves the selection is added or deleted for the watcher", async () => {
  const { engine } = await createTestCluster();
  const watch = record(engine, cm, { labelSelector: "tier in (front,edge)" });
  await engine.create(cm, "default", configMap("a", {}, { tier: "back" }));
  await engine.patch(cm, "default", "a", mergePatch({ metadata: { labels: { tier: "edge" } } }));
  await engine.patch(cm, "default", "a", mergePatch({ data: { k: "1" } }));
  await engine.patch(cm, "default", "a", mergePatch({ metadata: { labels: { tier: null } } }));
  await engine.delete(cm, "default", "a");
  assert.deepEqual(watch.lines(), ["ADDED a", "MODIFIED a", "DELETED a"]);
});

test("a lagging watch delivers late, in order, and a lowered lag lets nothing overtake", async () => {
  const { engine, clock } = await createTestCluster();
  let lagMs = 3000;
  const watch = record(engine, cm, {}, () => lagMs);
  await engine.create(cm, "default", configMap("a"));
  lagMs = 0;
  await engine.create(cm, "default", configMap("b"));
  await clock.advance(2999);
  assert.deepEqual(watch.lines(), []);
  await clock.advance(1);
  assert.deepEqual(watch.lines(), ["ADDED a", "ADDED b"]);
});

test("a watch ends at timeoutSeconds and leaves no timer behind", async () => {
  const { engine, clock } = await createTestCluster();
  const watch = record(engine, cm, {
    timeoutSeconds: 5,
    allowWatchBookmarks: true,
    resourceVersion: String(engine.revision),
  });
  await clock.advance(5000);
  assert.equal(watch.ended(), true);
  await engine.create(cm, "default", configMap("a"));
  assert.deepEqual(watch.lines(), [`BOOKMARK ${engine.revision - 1}`]);
  assert.equal(clock.pendingTimers, 0);
});

test("the last bookmark of a watch comes 2 s before its timeout", async () => {
  const { engine, clock } = await createTestCluster({ bookmarkPeriodMs: 60_000 });
  const resourceVersion = String(engine.revision);
  const watch = record(engine, cm, { timeoutSeconds: 62 + 60, allowWatchBookmarks: true, resourceVersion });
  await clock.advance(60_000 + 59_999);
  assert.equal(watch.lines().length, 1);
  await clock.advance(1);
  assert.equal(watch.lines().length, 2);
  await clock.advance(2000);
  assert.deepEqual([watch.lines().length, watch.ended()], [2, true]);
});

test("a closed watch is told nothing more", async () => {
  const { engine, clock } = await createTestCluster();
  const watch = record(engine, cm, { allowWatchBookmarks: true, resourceVersion: String(engine.revision) }, () => 100);
  await engine.create(cm, "default", configMap("a"));
  watch.close();
  await clock.advance(200_000);
  assert.deepEqual(watch.lines(), []);
  assert.equal(watch.ended(), false);
});
