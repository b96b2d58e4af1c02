import assert from "node:assert/strict";
import { test } from "node:test";
import { type OpenClusters } from "../../../../src/commands/clusters/open.ts";
import { clientOf, promisedPods } from "../../../../src/commands/explain/pod.ts";
import { type KubeClient } from "../../../../src/kube/kube-client.ts";
import { createFleet, forbid } from "../support/fleet.ts";

const clusters = (workers: readonly string[], cores: readonly string[]): OpenClusters => {
  const of = (names: readonly string[]) => new Map(names.map((name) => [name, { cluster: name } as KubeClient]));
  return { workers: of(workers), cores: of(cores) } as unknown as OpenClusters;
};

test("the pods of a cell are in its worker, and without workers in the only core", () => {
  assert.equal(clientOf("w1", clusters(["w1"], ["core"]))?.cluster, "w1");
  assert.equal(clientOf("w2", clusters(["w1"], ["core"])), undefined);
  assert.equal(clientOf("w1", clusters([], ["core"]))?.cluster, "core");
  assert.equal(clientOf("w1", clusters([], ["a", "b"])), undefined);
});

test("promised pods are not known where they may not be read, or nobody said where they are", async () => {
  const { core, stop } = await createFleet();
  const promise = { cellID: "w1", kind: "delete", podUID: "a", podName: undefined, podUIDDigests: [] } as const;
  const promises = [{ ...promise, weight: 1, ageMs: 0 }];
  assert.deepEqual(await promisedPods("shop", promises, core.client, stop.signal), new Map());
  assert.equal(await promisedPods("shop", promises, undefined, stop.signal), undefined);
  assert.equal(await promisedPods("shop", [], core.client, stop.signal), undefined);
  forbid(core, /pods/);
  assert.equal(await promisedPods("shop", promises, core.client, stop.signal), undefined);
});
