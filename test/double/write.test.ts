import assert from "node:assert/strict";
import { test } from "node:test";
import { configMap, createLivePod, createTestCluster, mergePatch, podBody, refusal } from "./cluster.ts";
import { asArray, asObject } from "./engine/object.ts";
import { builtInResources as types } from "./engine/resources.ts";

const cm = types.configMaps;

test("every write of the cluster moves one revision counter", async () => {
  const { engine } = await createTestCluster();
  const a = await engine.create(cm, "default", configMap("a"));
  const pod = await engine.create(types.pods, "default", podBody("p"));
  assert.equal(Number(pod.metadata.resourceVersion), Number(a.metadata.resourceVersion) + 1);
  assert.equal(engine.revision, Number(pod.metadata.resourceVersion));
});

test("a write of the main resource ignores status, and a write of status ignores the rest", async () => {
  const { engine } = await createTestCluster();
  const pod = await createLivePod(engine, "a");
  const both = {
    metadata: { labels: { x: "1" } },
    spec: { activeDeadlineSeconds: 5 },
    status: { phase: "Running" },
  };
  const status = await engine.patch(types.pods, "default", "a", mergePatch(both), { subresource: "status" });
  assert.equal(status.status?.["phase"], "Running");
  assert.equal(status.spec?.["activeDeadlineSeconds"], undefined);
  assert.equal(status.metadata.generation, pod.metadata.generation);
  const main = await engine.patch(types.pods, "default", "a", mergePatch({ ...both, status: { phase: "Failed" } }));
  assert.equal(main.spec?.["activeDeadlineSeconds"], 5);
  assert.equal(main.status?.["phase"], "Running");
  assert.equal(main.metadata.generation, 2);
});

test("managedFields times move with a change of status as well", async () => {
  const { engine, clock } = await createTestCluster();
  await createLivePod(engine, "a");
  await clock.advance(7000);
  const patch = mergePatch({ status: { phase: "Running" } });
  const pod = await engine.patch(types.pods, "default", "a", patch, { subresource: "status", fieldManager: "kubelet" });
  const times = asArray(pod.metadata.managedFields).map((entry) => asObject(entry)["time"]);
  assert.deepEqual(times, ["2026-01-01T00:00:00Z", "2026-01-01T00:00:07Z"]);
});

test("a server-side apply is refused with 501", async () => {
  const { engine } = await createTestCluster();
  await engine.create(cm, "default", configMap("a"));
  const patch = { contentType: "application/apply-patch+yaml", body: {} };
  await assert.rejects(engine.patch(cm, "default", "a", patch), refusal(501, "server-side apply"));
});

test("a dry-run create answers the object and stores none", async () => {
  const { engine } = await createTestCluster();
  const { revision } = engine;
  const object = await engine.create(cm, "default", configMap("a"), { dryRun: true });
  assert.equal(object.metadata.name, "a");
  assert.equal(engine.find(cm, "default", "a"), undefined);
  assert.equal(engine.revision, revision);
});

test("a pod's image may change but not the rest of its containers", async () => {
  const { engine } = await createTestCluster();
  await createLivePod(engine, "a");
  const image = mergePatch({ spec: { containers: [{ name: "main", image: "web:2" }] } });
  await engine.patch(types.pods, "default", "a", image);
  const name = mergePatch({ spec: { containers: [{ name: "other", image: "web:2" }] } });
  await assert.rejects(
    engine.patch(types.pods, "default", "a", name),
    refusal(422, "pod updates may not change fields"),
  );
});
