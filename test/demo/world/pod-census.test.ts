import assert from "node:assert/strict";
import { test } from "node:test";
import { builtInResources as types } from "../../double/index.ts";
import { createTestCluster, mergePatch, podBody } from "../../double/cluster.ts";
import { PodCensus } from "../../../scripts/demo/world/pod-census.ts";

const ready = { conditions: [{ type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }] };

test("a pod counts from the moment when it is ready until it is being deleted, in its service and cell", async () => {
  const { engine } = await createTestCluster();
  const seen: number[] = [];
  const census = new PodCensus("default", (_service, available) => void seen.push(available));
  census.follow("worker-1", engine);
  await engine.create(types.pods, "default", podBody("a", { nodeName: "node-1" }));
  assert.equal(census.total("web"), 0);
  const patch = mergePatch({ status: { phase: "Running", ...ready } });
  await engine.patch(types.pods, "default", "a", patch, { subresource: "status" });
  assert.equal(census.total("web"), 1);
  assert.equal(census.inCell("web", "worker-1"), 1);
  assert.equal(census.inCell("web", "worker-2"), 0);
  assert.equal(census.total("other"), 0);
  await engine.delete(types.pods, "default", "a");
  assert.equal(engine.get(types.pods, "default", "a").metadata.name, "a");
  assert.equal(census.total("web"), 0);
  assert.deepEqual(seen, [1, 0]);
});

test("pods of other namespaces do not count, nor does anything after the end", async () => {
  const { engine } = await createTestCluster();
  const census = new PodCensus("default", () => undefined);
  const end = census.follow("worker-1", engine);
  const create = async (name: string, namespace: string): Promise<void> => {
    await engine.create(types.pods, namespace, podBody(name, { nodeName: "node-1" }));
    const patch = mergePatch({ status: { phase: "Running", ...ready } });
    await engine.patch(types.pods, namespace, name, patch, { subresource: "status" });
  };
  await create("a", "kube-system");
  assert.equal(census.total("web"), 0);
  end();
  await create("b", "default");
  assert.equal(census.total("web"), 0);
});
