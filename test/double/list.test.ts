import assert from "node:assert/strict";
import { test } from "node:test";
import { configMap, createLivePod, createTestCluster, mergePatch, podBody, refusal } from "./cluster.ts";
import { type ListResult } from "./engine/requests/list.ts";
import { builtInResources as types } from "./engine/resources.ts";

const cm = types.configMaps;
const names = (list: ListResult): string[] => list.items.map((item) => item.metadata.name);

test("a list without a version is a barrier: it carries the revision of the whole cluster", async () => {
  const { engine } = await createTestCluster();
  await engine.create(cm, "default", configMap("a"));
  await engine.create(types.pods, "default", podBody("p"));
  assert.equal(engine.list(cm).resourceVersion, String(engine.revision));
});

test("pages show one consistent state, whatever happens between them", async () => {
  const { engine } = await createTestCluster();
  for (const name of ["a", "b", "c", "d"]) await engine.create(cm, "default", configMap(name));
  const first = engine.list(cm, undefined, { limit: 2 });
  await engine.delete(cm, "default", "c");
  await engine.create(cm, "default", configMap("e"));
  const second = engine.list(cm, undefined, { limit: 2, continueToken: first.continueToken });
  assert.deepEqual([names(first), first.remainingItemCount], [["a", "b"], 2]);
  assert.deepEqual(names(second), ["c", "d"]);
  assert.equal(second.resourceVersion, first.resourceVersion);
  assert.equal(second.continueToken, undefined);
});

test("a continue token expires with the history", async () => {
  const { engine } = await createTestCluster();
  for (const name of ["a", "b"]) await engine.create(cm, "default", configMap(name));
  const { continueToken } = engine.list(cm, undefined, { limit: 1 });
  await engine.create(cm, "default", configMap("c"));
  engine.forgetHistory();
  assert.throws(
    () => engine.list(cm, undefined, { limit: 1, continueToken }),
    refusal(410, "continue parameter is too old"),
  );
});

test("resourceVersionMatch Exact shows the past, NotOlderThan the present", async () => {
  const { engine } = await createTestCluster();
  const { metadata } = await engine.create(cm, "default", configMap("a"));
  await engine.create(cm, "default", configMap("b"));
  const { resourceVersion } = metadata;
  assert.deepEqual(names(engine.list(cm, undefined, { resourceVersion, resourceVersionMatch: "Exact" })), ["a"]);
  assert.deepEqual(names(engine.list(cm, undefined, { resourceVersion, resourceVersionMatch: "NotOlderThan" })), [
    "a",
    "b",
  ]);
  assert.throws(
    () => engine.list(cm, undefined, { resourceVersionMatch: "Exact" }),
    refusal(422, "forbidden unless resourceVersion is provided"),
  );
});

test("a version in the future is refused with 504 and a cause", async () => {
  const { engine } = await createTestCluster();
  assert.throws(
    () => engine.list(cm, undefined, { resourceVersion: "999999" }),
    refusal(504, "Too large resource version: 999999"),
  );
});

test("label selectors understand every operator", async () => {
  const { engine } = await createTestCluster();
  await engine.create(cm, "default", configMap("a", {}, { tier: "front", n: "1" }));
  await engine.create(cm, "default", configMap("b", {}, { tier: "back", n: "3" }));
  await engine.create(cm, "default", configMap("c"));
  const cases: [string, string[]][] = [
    ["tier=front", ["a"]],
    ["tier==front", ["a"]],
    ["tier!=front", ["b", "c"]],
    ["tier in (front, back)", ["a", "b"]],
    ["tier notin (front)", ["b", "c"]],
    ["tier", ["a", "b"]],
    ["!tier", ["c"]],
    ["n>2", ["b"]],
    ["n<2", ["a"]],
    ["tier in (front,back),n=3", ["b"]],
  ];
  for (const [labelSelector, expected] of cases) {
    assert.deepEqual(names(engine.list(cm, undefined, { labelSelector })), expected, labelSelector);
  }
  assert.throws(
    () => engine.list(cm, undefined, { labelSelector: "a b" }),
    refusal(400, "unable to parse requirement"),
  );
});

test("field selectors know names, namespaces, and a pod's node and phase", async () => {
  const { engine } = await createTestCluster();
  await createLivePod(engine, "a");
  await engine.create(types.pods, "kube-system", podBody("b"));
  await engine.patch(types.pods, "default", "a", mergePatch({ status: { phase: "Running" } }), {
    subresource: "status",
  });
  const cases: [string, string[]][] = [
    ["metadata.name=a", ["a"]],
    ["metadata.namespace=kube-system", ["b"]],
    ["spec.nodeName=node-1", ["a"]],
    ["spec.nodeName=", ["b"]],
    ["status.phase!=Running", ["b"]],
  ];
  for (const [fieldSelector, expected] of cases) {
    assert.deepEqual(names(engine.list(types.pods, undefined, { fieldSelector })), expected, fieldSelector);
  }
  assert.throws(
    () => engine.list(types.pods, undefined, { fieldSelector: "spec.x=1" }),
    refusal(400, "field label not supported: spec.x"),
  );
});
