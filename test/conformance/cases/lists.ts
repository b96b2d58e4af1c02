/** Lists and reads of versions that are not there yet, and lists of all namespaces. */
import assert from "node:assert/strict";
import { bodies } from "../bodies.ts";
import { theme } from "../case.ts";
import { ok, refused } from "../expect.ts";
import { compareVersions, names, versionOf } from "../thing.ts";

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
