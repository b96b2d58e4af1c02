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
