/** ReplicaSets and ReplicationControllers: they are protected without a controller, and stay so when they get one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { builtInResources, type JsonObject } from "../../double/index.ts";
import { hasFinalizer, isInForce, startLeading } from "./core-cluster.ts";

const secondMs = 1_000;
const { replicaSets, replicationControllers } = builtInResources;
const options = { sources: ["deployments.apps", "replicasets.apps", "replicationcontrollers"] } as const;
const mergePatch = (body: JsonObject) => ({ contentType: "application/merge-patch+json", body });

async function start() {
  const { core, generator } = await startLeading({}, options);
  const { engine, clock } = core;
  const deployment = await core.createDeployment("web");
  const owner = { apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: deployment.metadata.uid };
  const controlled = { ownerReferences: [{ ...owner, controller: true }] };
  const create = async (name: string, metadata: JsonObject = {}, type = replicaSets) => {
    const labels = { app: name };
    await engine.create(type, "default", {
      apiVersion: type.group === "" ? "v1" : "apps/v1",
      kind: type.kind,
      metadata: { name, namespace: "default", ...metadata },
      spec: {
        replicas: 4,
        selector: type === replicaSets ? { matchLabels: labels } : labels,
        template: { metadata: { labels }, spec: { containers: [{ name: "a", image: "a" }] } },
      },
    });
    await clock.advance(secondMs);
  };
  const patch = async (name: string, body: JsonObject, type = replicaSets) => {
    await engine.patch(type, "default", name, mergePatch(body));
    await clock.advance(3 * secondMs);
  };
  const floor = (name: string) => {
    const protector = core.protector(name);
    return isInForce(protector) ? protector?.spec?.["minAvailable"] : undefined;
  };
  const replicaSet = (name: string) => engine.find(replicaSets, "default", name);
  return { core, generator, controlled, create, patch, floor, replicaSet };
}

test("a ReplicaSet and a ReplicationController without a controller are protected, and end as others do", async () => {
  const { core, generator, create, floor } = await start();
  await create("bare");
  await create("old", {}, replicationControllers);
  assert.deepEqual([floor("replicaset-bare"), floor("replicationcontroller-old")], [3, 3]);
  const { metadata, spec } = core.protector("replicationcontroller-old")!;
  assert.equal(metadata.labels?.["podseidon.kubewharf.io/source-group"], "");
  assert.deepEqual(spec?.["selector"], { matchLabels: { app: "old" } });
  assert.partialDeepStrictEqual(metadata.ownerReferences, [{ apiVersion: "v1", kind: "ReplicationController" }]);
  await core.patchProtector("replicationcontroller-old", { metadata: { ownerReferences: null, labels: null } });
  await core.clock.advance(secondMs);
  assert.equal(core.protector("replicationcontroller-old")?.metadata.ownerReferences?.length, 1, "drift is repaired");
  core.engine.wipe(replicaSets);
  await core.engine.delete(replicationControllers, "default", "old");
  await core.clock.advance(3 * secondMs);
  assert.equal(floor("replicaset-bare"), 3, "dangling");
  assert.equal(core.protector("replicationcontroller-old"), undefined);
  assert.deepEqual(generator.errors(), []);
});

test("a ReplicaSet that a Deployment controls is left alone: no PodProtector, no finalizer, no gauge", async () => {
  const { core, generator, controlled, create, replicaSet } = await start();
  await create("web-1", controlled);
  assert.equal(core.protector("replicaset-web-1"), undefined);
  assert.ok(!hasFinalizer(replicaSet("web-1")));
  assert.deepEqual(
    [...generator.sources().unprotectable.values()].filter((count) => count > 0),
    [],
  );
});

test("a controller that appears later releases nothing, whoever leads, and the floor goes on following", async () => {
  const { core, generator, controlled, create, patch, floor, replicaSet } = await start();
  await create("bare");
  await patch("bare", { metadata: controlled });
  assert.equal(floor("replicaset-bare"), 3);
  await patch("bare", { spec: { replicas: 8 } });
  assert.equal(floor("replicaset-bare"), 6);
  await generator.stop();
  const next = core.startGenerator({}, options);
  await next.ready();
  await core.clock.advance(60 * secondMs);
  assert.equal(floor("replicaset-bare"), 6);
  core.eraseProtectors();
  await core.clock.advance(3 * secondMs);
  assert.equal(floor("replicaset-bare"), 6, "what vanishes is made again");
  await next.stop();
  core.eraseProtectors();
  const last = core.startGenerator({}, options);
  await last.ready();
  assert.equal(floor("replicaset-bare"), 6, "also what vanished while nobody looked");
  await core.engine.delete(replicaSets, "default", "bare");
  await core.clock.advance(3 * secondMs);
  assert.equal(core.protector("replicaset-bare"), undefined);
  assert.equal(replicaSet("bare"), undefined);
  await last.stop();
});

test("a ReplicaSet that loses its controller is protected from then on", async () => {
  const { controlled, create, patch, floor } = await start();
  await create("web-1", controlled);
  await patch("web-1", { metadata: { ownerReferences: null } });
  assert.equal(floor("replicaset-web-1"), 3);
});
