import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { Discovery, groupVersionOf, readGroup, readResourceList } from "../../../src/scale/discovery.ts";
import { builtInResources } from "../../double/index.ts";
import { scaledCrd } from "../../double/scaled-crd.ts";
import { EngineClient } from "../../support/engine-client.ts";
import { createCore } from "../generator/core-cluster.ts";

const secondMs = 1_000;
const minuteMs = 60 * secondMs;

async function bench() {
  const core = await createCore();
  await core.engine.installCrd(scaledCrd());
  const client = new EngineClient("core", core.engine);
  const discovery = new Discovery({ client, clock: core.clock });
  const version = async (): Promise<string> => {
    const answer = await discovery.ofResource("example.com", "databases");
    return answer.kind === "found" ? answer.mapping.resource.version : answer.kind;
  };
  return { ...core, client, discovery, version };
}

test("a kind is found by an owner reference, and by plural and group, for two requests in ten minutes", async () => {
  const { client, discovery, clock } = await bench();
  for (let round = 0; round < 3; round++) {
    const byKind = await discovery.ofKind("example.com/v1", "Database");
    assert.deepEqual(byKind, {
      kind: "found",
      mapping: {
        resource: { group: "example.com", version: "v1", resource: "databases" },
        kind: "Database",
        isNamespaced: true,
        hasScale: true,
      },
    });
    assert.deepEqual(await discovery.ofResource("example.com", "databases"), byKind);
  }
  assert.deepEqual(client.log, ["GET /apis/example.com", "GET /apis/example.com/v1"]);
  await clock.advance(11 * minuteMs);
  await discovery.ofKind("example.com/v1", "Database");
  assert.equal(client.log.length, 4);
});

test("who asks at the same time waits for one answer, and the core group has no list of versions", async () => {
  const { client, discovery } = await bench();
  const asked = Array.from({ length: 20 }, () => discovery.ofKind("v1", "ReplicationController"));
  for (const answer of await Promise.all(asked)) assert.equal(answer.kind, "found");
  assert.deepEqual(client.log, ["GET /api/v1"]);
});

test("a version that is not served any more leads to one that is", async () => {
  const { discovery } = await bench();
  const answer = await discovery.ofKind("example.com/v1alpha1", "Database");
  assert.equal(answer.kind === "found" && answer.mapping.resource.version, "v1");
});

test("an unknown kind is looked for again every ten seconds at most, and found when it appears", async () => {
  const { client, clock, engine, version } = await bench();
  await engine.delete(builtInResources.customResourceDefinitions, undefined, "databases.example.com");
  for (let second = 0; second < 30; second++) {
    assert.equal(await version(), "unserved");
    await clock.advance(secondMs);
  }
  assert.ok(client.log.length <= 4, String(client.log.length));
  await engine.installCrd(scaledCrd());
  await clock.advance(10 * secondMs);
  assert.equal(await version(), "v1");
});

test("a discovery that fails drops nothing that is known, and says of the unknown that nobody knows", async () => {
  const { client, clock, discovery, version } = await bench();
  assert.equal(await version(), "v1");
  client.onRequest = () => new KubeError("serverError", "503");
  await clock.advance(11 * minuteMs);
  assert.equal(await version(), "v1");
  assert.equal((await discovery.ofKind("example.com/v1", "Other")).kind, "notNow");
  assert.equal((await discovery.ofKind("apps/v1", "Deployment")).kind, "notNow");
  client.onRequest = (_, what) => (what.endsWith("/v1") ? new KubeError("timeout", "slow") : undefined);
  await clock.advance(minuteMs);
  assert.equal(await version(), "v1");
  client.onRequest = () => undefined;
  await clock.advance(minuteMs);
  assert.equal((await discovery.ofKind("example.com/v1", "Other")).kind, "unserved");
});

test("what is doubted is read again before its time, but not at once", async () => {
  const { clock, discovery, engine, version } = await bench();
  assert.equal(await version(), "v1");
  engine.wipe(builtInResources.customResourceDefinitions);
  await engine.installCrd(scaledCrd({ version: "v2" }));
  discovery.doubt("example.com");
  assert.equal(await version(), "v1");
  await clock.advance(10 * secondMs);
  assert.equal(await version(), "v2");
});

test("any number of made-up groups makes no storm, and nothing is concluded from the want of an answer", async () => {
  const { client, discovery } = await bench();
  const kinds: string[] = [];
  for (let index = 0; index < 500; index++)
    kinds.push((await discovery.ofKind(`made-up-${index}.example.com/v1`, "Thing")).kind);
  assert.ok(client.log.length <= 20, String(client.log.length));
  assert.equal(kinds.at(-1), "notNow");
  assert.equal((await discovery.ofKind("a/b/c", "Thing")).kind, "unserved");
});

test("an apiVersion is a group and a version, and the core group has no name", () => {
  assert.deepEqual(groupVersionOf("v1"), { group: "", version: "v1" });
  assert.deepEqual(groupVersionOf("apps/v1"), { group: "apps", version: "v1" });
  for (const text of ["", "/", "apps/", "a/b/c"]) assert.equal(groupVersionOf(text), undefined, text);
});

test("a resource list tells which kinds have a scale that can be read", () => {
  const scale = { kind: "Scale", group: "autoscaling", version: "v1", verbs: ["get"] };
  const resources = [
    { name: "databases", kind: "Database", namespaced: true },
    { name: "databases/scale", ...scale },
    { name: "caches", kind: "Cache", namespaced: false },
    { name: "caches/scale", ...scale, kind: "Cache" },
    { name: "queues", kind: "Queue", namespaced: true },
    { name: "queues/scale", ...scale, verbs: ["patch"] },
    { kind: "Nameless" },
    7,
  ];
  const read = readResourceList({ resources }, "example.com", "v1");
  assert.deepEqual(
    read?.map(({ resource, kind, isNamespaced, hasScale }) => [resource.resource, kind, isNamespaced, hasScale]),
    [
      ["databases", "Database", true, true],
      ["caches", "Cache", false, false],
      ["queues", "Queue", true, false],
    ],
  );
  assert.equal(readResourceList({ kind: "Status" }, "example.com", "v1"), undefined);
});

test("the versions of a group begin with the preferred one", () => {
  const versions = [{ version: "v1" }, { version: "v2" }, {}];
  assert.deepEqual(readGroup({ versions, preferredVersion: { version: "v2" } }), ["v2", "v1"]);
  assert.equal(readGroup({}), undefined);
});
