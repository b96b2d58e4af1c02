/** Lists: versions, pages, label and field selectors. */
import assert from "node:assert/strict";
import { bodies } from "../bodies.ts";
import { theme } from "../case.ts";
import { ok, refused } from "../expect.ts";
import { type Collection, type Scope } from "../scope.ts";
import { compareVersions, names, type Thing, versionOf } from "../thing.ts";

/** ConfigMaps a to e; a and b are labelled app=web, the others app=db. Their versions in the same order. */
async function five(configMaps: Collection): Promise<readonly string[]> {
  const versions: string[] = [];
  for (const name of ["a", "b", "c", "d", "e"]) {
    const labels = { app: name < "c" ? "web" : "db", is: name };
    versions.push(versionOf(await configMaps.create(bodies.configMap(name, {}, { labels }))));
  }
  return versions;
}

async function filled(t: Scope): Promise<{ configMaps: Collection; versions: readonly string[] }> {
  const { configMaps } = await t.space();
  return { configMaps, versions: await five(configMaps) };
}

/** A version that the server has not reached. */
function future(version: string): string {
  return String(BigInt(version) + 1_000_000n);
}

const text = (list: Thing): string => names(list).join("");

const versioned = theme("list", {
  "without a version shows everything that was committed before": async (t) => {
    const { configMaps, versions } = await filled(t);
    const list = ok(await configMaps.list(), 200);
    assert.equal(text(list), "abcde");
    assert.ok(compareVersions(versionOf(list), versions.at(-1)!) >= 0);
  },
  "names its kind, but leaves kind and apiVersion out of built-in items": async (t) => {
    const { configMaps } = await filled(t);
    const list = ok(await configMaps.list());
    assert.deepEqual([list.kind, list.apiVersion], ["ConfigMapList", "v1"]);
    assert.deepEqual([list.items?.[0]?.kind, list.items?.[0]?.apiVersion], [undefined, undefined]);
  },
  "of custom resources keeps kind and apiVersion in the items, and has an empty continue token at its end": async (
    t,
  ) => {
    const protectors = (await t.space()).of("podprotectors");
    await protectors.create(bodies.podProtector("a"));
    const list = ok(await protectors.list());
    assert.equal(list.kind, "PodProtectorList");
    assert.equal(list.items?.[0]?.kind, "PodProtector");
    assert.equal(list.metadata?.continue, "");
  },
  "of nothing is an empty list with a version": async (t) => {
    const list = ok(await (await t.space()).of("leases").list());
    assert.deepEqual(list.items, []);
    assert.match(versionOf(list), /^[1-9]\d*$/);
  },
  "over all namespaces holds those of each": async (t) => {
    const [one, other] = [await t.space(), await t.space()];
    const labels = { shared: one.name };
    await one.configMaps.create(bodies.configMap("a", {}, { labels }));
    await other.configMaps.create(bodies.configMap("b", {}, { labels }));
    const all = t.cluster("/api/v1", "configmaps");
    assert.equal(text(ok(await all.list({ labelSelector: `shared=${one.name}` }))), "ab");
  },
  "at version 0 may be of any age, and is what the server has at hand": async (t) => {
    const { configMaps } = await filled(t);
    await configMaps.list();
    assert.equal(text(ok(await configMaps.list({ resourceVersion: 0 }))), "abcde");
  },
  "at a version is not older than it": async (t) => {
    const { configMaps, versions } = await filled(t);
    const list = ok(await configMaps.list({ resourceVersion: versions[3]! }));
    assert.ok(compareVersions(versionOf(list), versions[3]!) >= 0);
    assert.ok(names(list).includes("d"));
    const explicit = ok(await configMaps.list({ resourceVersion: versions[3]!, resourceVersionMatch: "NotOlderThan" }));
    assert.ok(names(explicit).includes("d"));
  },
  "at exactly a version shows that state": async (t) => {
    const { configMaps, versions } = await filled(t);
    const list = ok(await configMaps.list({ resourceVersion: versions[1]!, resourceVersionMatch: "Exact" }));
    assert.equal(text(list), "ab");
    assert.equal(versionOf(list), versions[1]);
  },
  "of a version that is not there yet ends with a timeout of its own kind": async (t) => {
    const { configMaps, versions } = await filled(t);
    const answer = await configMaps.list({ resourceVersion: future(versions[0]!) });
    const status = refused(answer, 504, "Timeout", /^Timeout: Too large resource version: \d+, current: \d+$/);
    const cause = { reason: "ResourceVersionTooLarge", message: "Too large resource version" };
    assert.deepEqual(status.details, { causes: [cause], retryAfterSeconds: 1 });
  },
  "refuses a version that is no number": async (t) => {
    const { configMaps } = await t.space();
    refused(await configMaps.list({ resourceVersion: "x" }), 400, "BadRequest", /^invalid resource version: /);
  },
  "refuses a match without a version, of an unknown word, and of exactly 0": async (t) => {
    const { configMaps } = await t.space();
    const why = async (query: Record<string, string | number>, message: RegExp): Promise<void> => {
      refused(await configMaps.list(query), 422, "Invalid", message);
    };
    await why(
      { resourceVersionMatch: "Exact" },
      /resourceVersionMatch is forbidden unless resourceVersion is provided/,
    );
    await why({ resourceVersion: 1, resourceVersionMatch: "Sideways" }, /Unsupported value: "Sideways"/);
    await why({ resourceVersion: 0, resourceVersionMatch: "Exact" }, /is forbidden for resourceVersion "0"/);
  },
});

const pages = theme("pages", {
  "hold as many as were asked for, with a token and the number of those that are left": async (t) => {
    const { configMaps } = await filled(t);
    const list = ok(await configMaps.list({ limit: 2 }));
    assert.equal(text(list), "ab");
    assert.notEqual(list.metadata?.continue ?? "", "");
    assert.equal(list.metadata?.remainingItemCount, 3);
  },
  "go on from the token in the state of the first": async (t) => {
    const { configMaps } = await filled(t);
    const first = ok(await configMaps.list({ limit: 2 }));
    ok(await configMaps.delete("d"));
    await configMaps.create(bodies.configMap("bb"));
    const second = ok(await configMaps.list({ limit: 2, continue: first.metadata!.continue! }));
    const third = ok(await configMaps.list({ limit: 2, continue: second.metadata!.continue! }));
    assert.deepEqual([second, third].map(text), ["cd", "e"]);
    assert.equal(versionOf(second), versionOf(first));
    assert.equal(third.metadata?.continue, undefined);
  },
  "may end early: a token without a limit brings the rest": async (t) => {
    const { configMaps } = await filled(t);
    const first = ok(await configMaps.list({ limit: 2 }));
    assert.equal(text(ok(await configMaps.list({ continue: first.metadata!.continue! }))), "cde");
  },
  "with a selector do not tell how many are left": async (t) => {
    const { configMaps } = await filled(t);
    const first = ok(await configMaps.list({ limit: 1, labelSelector: "app=db" }));
    assert.equal(text(first), "c");
    assert.equal(first.metadata?.remainingItemCount, undefined);
    const rest = ok(await configMaps.list({ labelSelector: "app=db", continue: first.metadata!.continue! }));
    assert.equal(text(rest), "de");
  },
  "at version 0 come all at once": async (t) => {
    const { configMaps } = await filled(t);
    await configMaps.list();
    assert.equal(text(ok(await configMaps.list({ limit: 2, resourceVersion: 0 }))), "abcde");
  },
  "at a version show exactly that state": async (t) => {
    const { configMaps, versions } = await filled(t);
    const list = ok(await configMaps.list({ limit: 1, resourceVersion: versions[1]! }));
    assert.deepEqual([text(list), versionOf(list)], ["a", versions[1]]);
  },
  "refuse a version beside the token": async (t) => {
    const { configMaps, versions } = await filled(t);
    const token = ok(await configMaps.list({ limit: 2 })).metadata!.continue!;
    const answer = await configMaps.list({ limit: 2, continue: token, resourceVersion: versions[0]! });
    refused(answer, 400, "BadRequest", "specifying resource version is not allowed when using continue");
  },
  "refuse a token that is none": async (t) => {
    const { configMaps } = await filled(t);
    const answer = await configMaps.list({ limit: 2, continue: "zzz" });
    refused(answer, 400, "BadRequest", /^invalid continue token: continue key is not valid/);
  },
  "of a limit of nothing hold everything": async (t) => {
    const { configMaps } = await filled(t);
    for (const limit of [0, -1]) assert.equal(text(ok(await configMaps.list({ limit }))), "abcde");
  },
});

/** Label selectors and the names of those that they select. */
const labelSelectors: Readonly<Record<string, string>> = {
  "app=web": "ab",
  "app==db,is!=c": "de",
  "app!=web": "cde",
  "app in (web,db)": "abcde",
  "app notin (web)": "cde",
  "is in (a, e)": "ae",
  app: "abcde",
  "!app": "",
  "!other": "abcde",
  "other!=x": "abcde",
  "app=": "",
  " app = web ": "ab",
};

const fieldSelectors: Readonly<Record<string, string>> = {
  "metadata.name=a": "a",
  "metadata.name==a": "a",
  "metadata.name!=a": "bcde",
  "metadata.name!=a,metadata.name!=b": "cde",
  "metadata.name=": "",
};

const selectors = theme("selectors", {
  "by label select as written": async (t) => {
    const { configMaps } = await filled(t);
    for (const [labelSelector, expected] of Object.entries(labelSelectors)) {
      assert.equal(text(ok(await configMaps.list({ labelSelector }))), expected, labelSelector);
    }
  },
  "by label that cannot be read are refused": async (t) => {
    const { configMaps } = await t.space();
    for (const labelSelector of ["a b", "=", "app in (web", "app=~web"]) {
      refused(await configMaps.list({ labelSelector }), 400, "BadRequest", /./);
    }
  },
  "by field select as written": async (t) => {
    const { configMaps } = await filled(t);
    for (const [fieldSelector, expected] of Object.entries(fieldSelectors)) {
      assert.equal(text(ok(await configMaps.list({ fieldSelector }))), expected, fieldSelector);
    }
  },
  "by both select what satisfies both": async (t) => {
    const { configMaps } = await filled(t);
    const query = { labelSelector: "app=db", fieldSelector: "metadata.name!=d" };
    assert.equal(text(ok(await configMaps.list(query))), "ce");
  },
  "by a pod's node, phase and restart policy work": async (t) => {
    const space = await t.space();
    await space.livePod("a");
    await space.pods.create(bodies.pod("b"));
    ok(await space.pods.merge("b/status", { status: { phase: "Running", podIP: "10.1.2.3" } }));
    const expected = {
      "spec.nodeName=node-0": "a",
      "spec.nodeName=": "b",
      "status.phase=Pending": "a",
      "status.phase!=Pending": "b",
      "status.podIP=10.1.2.3": "b",
      "spec.restartPolicy=Always": "ab",
      "spec.schedulerName=default-scheduler": "ab",
      "spec.hostNetwork=false": "ab",
    };
    for (const [fieldSelector, found] of Object.entries(expected)) {
      assert.equal(text(ok(await space.pods.list({ fieldSelector }))), found, fieldSelector);
    }
  },
  "by a field that is none are refused": async (t) => {
    const space = await t.space();
    const query = { fieldSelector: "spec.x=1" };
    refused(await space.pods.list(query), 400, "BadRequest", "field label not supported: spec.x");
    refused(await space.of("podprotectors").list(query), 400, "BadRequest", "field label not supported: spec.x");
    const known = 'only "metadata.name", "metadata.namespace"';
    refused(await space.configMaps.list(query), 400, "BadRequest", `"spec.x" is not a known field selector: ${known}`);
  },
  "by an event's object, reason and type work": async (t) => {
    const space = await t.space();
    const events = space.of("events");
    const object = { kind: "Pod", namespace: space.name, name: "web-1", uid: "u-1" };
    await events.create(bodies.event("a", object));
    for (const fieldSelector of [
      "involvedObject.name=web-1",
      "involvedObject.uid=u-1",
      "reason=Refused",
      "type!=Normal",
    ]) {
      assert.equal(text(ok(await events.list({ fieldSelector }))), "a", fieldSelector);
    }
    assert.equal(text(ok(await events.list({ fieldSelector: "involvedObject.kind=Node" }))), "");
  },
});

const gets = theme("get", {
  "of a name that is not there is refused": async (t) => {
    const { configMaps } = await t.space();
    const status = refused(await configMaps.get("a"), 404, "NotFound", 'configmaps "a" not found');
    assert.deepEqual(status.details, { name: "a", kind: "configmaps" });
  },
  "at a version is not older than it": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a"));
    const changed = ok(await configMaps.merge("a", { data: { k: "1" } }));
    assert.deepEqual(ok(await configMaps.get("a", { resourceVersion: versionOf(changed) })), changed);
  },
  "of a version that is not there yet ends with a timeout": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a"));
    const answer = await configMaps.get("a", { resourceVersion: future(versionOf(created)) });
    refused(answer, 504, "Timeout", /^Timeout: Too large resource version/);
  },
  "refuses a version that is no number": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a"));
    refused(await configMaps.get("a", { resourceVersion: "x" }), 500, "", /^resourceVersion: Invalid value: "x"/);
  },
});

export const listCases = [...versioned, ...pages, ...selectors, ...gets];
