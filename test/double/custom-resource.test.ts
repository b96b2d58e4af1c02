import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestCluster, mergePatch, refusal } from "./cluster.ts";
import { type JsonObject, asArray, asObject } from "./engine/object.ts";
import { builtInResources as types } from "./engine/resources.ts";
import { permissivePodProtectorCrd, upstreamPodProtectorCrd } from "./pod-protector-crd.ts";

function protector(name: string, spec: JsonObject = {}): JsonObject {
  const complete = { minAvailable: 2, minReadySeconds: 0, selector: { matchLabels: { app: "web" } }, ...spec };
  return { apiVersion: "podseidon.kubewharf.io/v1alpha1", kind: "PodProtector", metadata: { name }, spec: complete };
}

test("upstream's definition prunes the extension fields of a status", async () => {
  const { engine } = await createTestCluster();
  const type = await engine.installCrd(upstreamPodProtectorCrd());
  await engine.create(type, "default", protector("web"));
  const aggregation = { totalReplicas: 3, availableReplicas: 3, resourceVersion: "77", countedSpec: "abc" };
  const buckets = [{ startTime: "2026-01-01T00:00:00.000001Z", podUID: "u", podResourceVersion: "5" }];
  const summary = { totalReplicas: 3, aggregatedAvailableReplicas: 3, estimatedAvailableReplicas: 2 };
  const status = { cells: [{ cellID: "c", aggregation, admissionHistory: { buckets } }], summary, conditions: [] };
  const stored = await engine.patch(type, "default", "web", mergePatch({ status }), { subresource: "status" });
  assert.deepEqual(stored.status?.["cells"], [
    {
      cellID: "c",
      aggregation: { totalReplicas: 3, availableReplicas: 3 },
      admissionHistory: { buckets: [{ startTime: "2026-01-01T00:00:00.000001Z", podUID: "u" }] },
    },
  ]);
  assert.equal(stored.status?.["conditions"], undefined);
});

test("the schema refuses a missing field and a negative number in the server's words", async () => {
  const { engine } = await createTestCluster();
  const type = await engine.installCrd(upstreamPodProtectorCrd());
  const negative = engine.create(type, "default", protector("web", { minAvailable: -1 }));
  await assert.rejects(negative, refusal(422, "spec.minAvailable in body should be greater than or equal to 0"));
  const missing = engine.create(type, "default", protector("web", { selector: undefined }));
  await assert.rejects(missing, refusal(422, "spec.selector: Required value"));
  const text = engine.create(type, "default", protector("web", { minReadySeconds: "soon" }));
  await assert.rejects(text, refusal(422, "spec.minReadySeconds in body must be of type integer"));
});

test("a status write of a custom resource changes nothing but status, and no generation", async () => {
  const { engine } = await createTestCluster();
  const type = await engine.installCrd(permissivePodProtectorCrd());
  await engine.create(type, "default", { ...protector("web"), status: { cells: [] } });
  assert.equal(engine.get(type, "default", "web").status, undefined);
  const patch = mergePatch({ metadata: { annotations: { a: "1" } }, spec: { minAvailable: 9 }, status: { cells: [] } });
  const stored = await engine.patch(type, "default", "web", patch, { subresource: "status" });
  assert.deepEqual(stored.status, { cells: [] });
  assert.equal(stored.spec?.["minAvailable"], 2);
  assert.equal(stored.metadata.annotations, undefined);
  assert.equal(stored.metadata.generation, 1);
  const main = await engine.patch(type, "default", "web", mergePatch({ spec: { minAvailable: 3 } }));
  assert.equal(main.metadata.generation, 2);
});

test("a custom resource must be updated at a version", async () => {
  const { engine } = await createTestCluster();
  const type = await engine.installCrd(permissivePodProtectorCrd());
  await engine.create(type, "default", protector("web"));
  await assert.rejects(
    engine.update(type, "default", "web", protector("web")),
    refusal(422, "must be specified for an update"),
  );
});

test("deleting a definition takes its objects along, and waits for those with finalizers", async () => {
  const { engine } = await createTestCluster();
  const type = await engine.installCrd(permissivePodProtectorCrd());
  await engine.create(type, "default", protector("free"));
  const held = protector("held");
  await engine.create(type, "default", { ...held, metadata: { name: "held", finalizers: ["x.test/hold"] } });
  const crds = types.customResourceDefinitions;
  const crdName = "podprotectors.podseidon.kubewharf.io";
  await engine.delete(crds, undefined, crdName);
  assert.deepEqual(
    engine.list(type).items.map((item) => item.metadata.name),
    ["held"],
  );
  assert.notEqual(engine.get(crds, undefined, crdName).metadata.deletionTimestamp, undefined);
  await engine.patch(type, "default", "held", mergePatch({ metadata: { finalizers: null } }));
  assert.equal(engine.find(crds, undefined, crdName), undefined);
  assert.equal(engine.registry.find(type.group, type.version, type.resource), undefined);
});

test("installing another definition of the same name changes the schema at once", async () => {
  const { engine } = await createTestCluster();
  await engine.installCrd(permissivePodProtectorCrd());
  const type = await engine.installCrd(upstreamPodProtectorCrd());
  const stored = await engine.create(type, "default", protector("web", { unknown: 1 }));
  assert.equal(stored.spec?.["unknown"], undefined);
  const crd = engine.get(types.customResourceDefinitions, undefined, "podprotectors.podseidon.kubewharf.io");
  const conditions = asArray(crd.status?.["conditions"]).map((item) => asObject(item)["type"]);
  assert.deepEqual(conditions, ["NamesAccepted", "Established"]);
});
