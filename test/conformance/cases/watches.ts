/** Watches: resuming, selection, the initial state, bookmarks, and what is too old. */
import assert from "node:assert/strict";
import { bodies } from "../bodies.ts";
import { exclusiveTheme, theme } from "../case.ts";
import { lines, ok, refused } from "../expect.ts";
import { type Collection, type Space } from "../scope.ts";
import { type Query, type WatchEvent } from "../target.ts";
import { compareVersions, meta, names, versionOf } from "../thing.ts";

const isBookmark = ({ type }: WatchEvent): boolean => type === "BOOKMARK";
const initial: Query = { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan", allowWatchBookmarks: true };
const labels = { app: "web" };

/** Everything that comes within the second that the server lets the watch live. */
async function briefly(collection: Collection, query: Query): Promise<readonly WatchEvent[]> {
  const stream = await collection.watch({ ...query, timeoutSeconds: 1 });
  return await stream.rest();
}

/** A ConfigMap "a" and what happens after its creation; the version of the creation. */
async function history({ configMaps }: Space): Promise<string> {
  const created = await configMaps.create(bodies.configMap("a", {}, { labels }));
  await configMaps.create(bodies.configMap("b", {}, { labels }));
  ok(await configMaps.merge("a", { data: { k: "1" } }));
  ok(await configMaps.merge("a", { metadata: { labels: { app: "db" } } }));
  ok(await configMaps.merge("a", { metadata: { labels } }));
  ok(await configMaps.delete("b"));
  return versionOf(created);
}

const resumed = theme("watch", {
  "from a version shows every later change in order": async (t) => {
    const space = await t.space();
    const resourceVersion = await history(space);
    const events = await briefly(space.configMaps, { resourceVersion });
    assert.deepEqual(lines(events), ["ADDED b", "MODIFIED a", "MODIFIED a", "MODIFIED a", "DELETED b"]);
    const versions = events.map(({ object }) => versionOf(object));
    for (const [index, version] of versions.slice(1).entries()) {
      assert.ok(compareVersions(versions[index]!, version) < 0, versions.join(" "));
    }
  },
  "from any version on the way shows exactly the rest": async (t) => {
    const space = await t.space();
    const resourceVersion = await history(space);
    const all = await briefly(space.configMaps, { resourceVersion });
    const halfway = versionOf(all[2]!.object);
    assert.deepEqual(await briefly(space.configMaps, { resourceVersion: halfway }), all.slice(3));
  },
  "with bookmarks sends one shortly before its timeout": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a"));
    const query = { resourceVersion: versionOf(created), allowWatchBookmarks: true, timeoutSeconds: 5 };
    const events = await (await configMaps.watch(query)).rest();
    assert.ok(events.length > 0 && events.every(isBookmark), lines(events).join(" "));
    const last = versionOf(events.at(-1)!.object);
    assert.ok(compareVersions(versionOf(created), last) <= 0);
  },
  "shows changes as they happen, with the same versions as the answers to the writers": async (t) => {
    const { configMaps } = await t.space();
    const stream = await configMaps.watch({ resourceVersion: await configMaps.version() });
    const created = await configMaps.create(bodies.configMap("a"));
    const patched = ok(await configMaps.merge("a", { data: { k: "1" } }));
    ok(await configMaps.delete("a"));
    const events = await stream.until(({ type }) => type === "DELETED");
    stream.close();
    assert.deepEqual(lines(events), ["ADDED a", "MODIFIED a", "DELETED a"]);
    assert.deepEqual(
      events.slice(0, 2).map(({ object }) => versionOf(object)),
      [created, patched].map(versionOf),
    );
    assert.ok(compareVersions(versionOf(patched), versionOf(events[2]!.object)) < 0);
    assert.equal(meta(events[2]!.object).uid, meta(created).uid);
  },
  "with a label selector shows objects coming and going": async (t) => {
    const space = await t.space();
    const resourceVersion = await history(space);
    const events = await briefly(space.configMaps, { resourceVersion, labelSelector: "app=web" });
    assert.deepEqual(lines(events), ["ADDED b", "MODIFIED a", "DELETED a", "ADDED a", "DELETED b"]);
    // What left the selection comes in its last selected state, at the version of the change.
    assert.deepEqual(meta(events[2]!.object).labels, labels);
    assert.ok(compareVersions(versionOf(events[1]!.object), versionOf(events[2]!.object)) < 0);
    const others = await briefly(space.configMaps, { resourceVersion, labelSelector: "app=db" });
    assert.deepEqual(lines(others), ["ADDED a", "DELETED a"]);
  },
  "of one namespace does not show another's": async (t) => {
    const [space, other] = [await t.space(), await t.space()];
    const resourceVersion = await space.configMaps.version();
    await history(other);
    assert.deepEqual(await briefly(space.configMaps, { resourceVersion }), []);
  },
  "ends at its timeout": async (t) => {
    const { configMaps } = await t.space();
    const startMs = performance.now();
    assert.deepEqual(await briefly(configMaps, { resourceVersion: await configMaps.version() }), []);
    assert.ok(performance.now() - startMs >= 900);
  },
});

const state = theme("watch of the initial state", {
  "with bookmarks says where it ends, asked or not": async (t) => {
    const space = await t.space();
    await history(space);
    for (const query of [{}, { resourceVersion: 0 }]) {
      const events = await briefly(space.configMaps, { ...query, allowWatchBookmarks: true });
      // Another bookmark may come shortly before the end.
      assert.deepEqual(lines(events.slice(0, 2)), ["ADDED a", "BOOKMARK"]);
      assert.ok(events.slice(1).every(isBookmark));
      assert.deepEqual(meta(events[1]!.object).annotations, { "k8s.io/initial-events-end": "true" });
    }
  },
  "by sendInitialEvents ends with a bookmark at a version that covers every write before": async (t) => {
    const space = await t.space();
    await history(space);
    const last = await space.of("leases").create(bodies.lease("last"));
    const stream = await space.configMaps.watch(initial);
    const events = await stream.until(isBookmark);
    assert.deepEqual(lines(events), ["ADDED a", "BOOKMARK"]);
    const bookmark = events.at(-1)!.object;
    assert.deepEqual([bookmark.kind, bookmark.apiVersion], ["ConfigMap", "v1"]);
    assert.deepEqual(meta(bookmark).annotations, { "k8s.io/initial-events-end": "true" });
    assert.ok(compareVersions(versionOf(bookmark), versionOf(last)) >= 0);
    ok(await space.configMaps.delete("a"));
    assert.deepEqual(lines([await stream.next()]), ["DELETED a"]);
    stream.close();
  },
  "of nothing is the bookmark alone": async (t) => {
    const space = await t.space();
    const stream = await space.of("podprotectors").watch(initial);
    assert.deepEqual(lines(await stream.until(isBookmark)), ["BOOKMARK"]);
    stream.close();
  },
  "is selected by labels as well": async (t) => {
    const space = await t.space();
    await history(space);
    const stream = await space.configMaps.watch({ ...initial, labelSelector: "app=none" });
    assert.deepEqual(lines(await stream.until(isBookmark)), ["BOOKMARK"]);
    stream.close();
  },
  "at a version is not older than it": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a"));
    const stream = await configMaps.watch({ ...initial, resourceVersion: versionOf(created) });
    assert.deepEqual(lines(await stream.until(isBookmark)), ["ADDED a", "BOOKMARK"]);
    stream.close();
  },
  "of a version that is not there yet ends with an error in the stream": async (t) => {
    const { configMaps } = await t.space();
    const resourceVersion = String(BigInt(await configMaps.version()) + 1_000_000n);
    const events = await briefly(configMaps, { ...initial, resourceVersion });
    assert.deepEqual(
      events.map(({ type, object }) => [type, object.code, object.reason]),
      [["ERROR", 504, "Timeout"]],
    );
    assert.equal(events[0]?.object.details?.causes?.[0]?.reason, "ResourceVersionTooLarge");
  },
});

const lost = exclusiveTheme("history loss", {
  "ends a watch of an older version with 410 in the stream, and lists of it with 410": async (t) => {
    const { configMaps } = await t.space();
    const resourceVersion = versionOf(await configMaps.create(bodies.configMap("a")));
    await configMaps.create(bodies.configMap("b"));
    await configMaps.create(bodies.configMap("c"));
    const token = ok(await configMaps.list({ limit: 1 })).metadata!.continue!;
    await configMaps.create(bodies.configMap("d"));
    await t.target.forgetHistory();

    for (const version of [resourceVersion, "1"]) {
      const events = await briefly(configMaps, { resourceVersion: version });
      assert.deepEqual(
        events.map(({ type, object }) => [type, object.code, object.reason]),
        [["ERROR", 410, "Expired"]],
      );
      assert.match(events[0]?.object.message ?? "", /^too old resource version: \d+ \(\d+\)$/);
    }
    const tooOld = "The resourceVersion for the provided list is too old.";
    for (const query of [{ resourceVersionMatch: "Exact" }, { limit: 1 }]) {
      refused(await configMaps.list({ resourceVersion, ...query }), 410, "Expired", tooOld);
    }
    assert.deepEqual(names(ok(await configMaps.list({ resourceVersion }))), ["a", "b", "c", "d"]);
    assert.deepEqual(await briefly(configMaps, { resourceVersion: await configMaps.version() }), []);

    const expired = await configMaps.list({ limit: 1, continue: token });
    assert.deepEqual([expired.code, expired.body.reason], [410, "Expired"]);
    assert.match(
      expired.body.message ?? "",
      /^The provided continue parameter is too old to display a consistent list result\./,
    );
    // The token of the refusal goes on in the present state, which is not that of the first page.
    const rest = ok(await configMaps.list({ continue: meta(expired.body).continue! }));
    assert.deepEqual(names(rest), ["b", "c", "d"]);
  },
});

export const watchCases = [...resumed, ...state, ...lost];

/** A version that the server has not reached. */
function future(version: string): string {
  return String(BigInt(version) + 1_000_000n);
}

const versioned = theme("list", {
  "over all namespaces holds those of each": async (t) => {
    const [one, other] = [await t.space(), await t.space()];
    const labels = { shared: one.name };
    await one.configMaps.create(bodies.configMap("a", {}, { labels }));
    await other.configMaps.create(bodies.configMap("b", {}, { labels }));
    const all = t.cluster("/api/v1", "configmaps");
    assert.deepEqual(names(ok(await all.list({ labelSelector: `shared=${one.name}` }))), ["a", "b"]);
  },
  "at a version is not older than it": async (t) => {
    const { configMaps } = await t.space();
    const resourceVersion = versionOf(await configMaps.create(bodies.configMap("d")));
    const list = ok(await configMaps.list({ resourceVersion }));
    assert.ok(compareVersions(versionOf(list), resourceVersion) >= 0);
    assert.ok(names(list).includes("d"));
    const explicit = ok(await configMaps.list({ resourceVersion, resourceVersionMatch: "NotOlderThan" }));
    assert.ok(names(explicit).includes("d"));
  },
  "of a version that is not there yet ends with a timeout of its own kind": async (t) => {
    const { configMaps } = await t.space();
    const answer = await configMaps.list({ resourceVersion: future(await configMaps.version()) });
    const status = refused(answer, 504, "Timeout", /^Timeout: Too large resource version: \d+, current: \d+$/);
    const cause = { reason: "ResourceVersionTooLarge", message: "Too large resource version" };
    assert.deepEqual(status.details, { causes: [cause], retryAfterSeconds: 1 });
  },
});

const gets = theme("get", {
  "of a version that is not there yet ends with a timeout": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a"));
    const answer = await configMaps.get("a", { resourceVersion: future(versionOf(created)) });
    refused(answer, 504, "Timeout", /^Timeout: Too large resource version/);
  },
});

export const listCases = [...versioned, ...gets];
