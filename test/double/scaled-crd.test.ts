import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestCluster, mergePatch, refusal } from "./cluster.ts";
import { databaseBody, scaledCrd } from "./scaled-crd.ts";

test("the scale of a custom resource is read and written through the paths of its definition", async () => {
  const { engine } = await createTestCluster();
  const type = await engine.installCrd(scaledCrd());
  const created = await engine.create(type, "default", databaseBody("orders"));
  await engine.patch(type, "default", "orders", mergePatch({ status: { selector: "app=orders" } }), {
    subresource: "status",
  });
  const scale = engine.getScale(type, "default", "orders");
  assert.partialDeepStrictEqual(scale, {
    kind: "Scale",
    metadata: { uid: created.metadata.uid },
    spec: { replicas: 5 },
    status: { selector: "app=orders" },
  });
  await engine.patchScale(type, "default", "orders", mergePatch({ spec: { replicas: 0 } }));
  assert.deepEqual(engine.get(type, "default", "orders").spec, { members: 0 });
  assert.deepEqual(engine.getScale(type, "default", "orders")["spec"], {});
});

test("the scale of a custom resource without replicas is an internal error", async () => {
  const { engine } = await createTestCluster();
  const type = await engine.installCrd(scaledCrd());
  await engine.create(type, "default", databaseBody("orders", {}));
  const read = async () => engine.getScale(type, "default", "orders");
  await assert.rejects(read(), refusal(500, 'the spec replicas field ".spec.members" does not exist'));
});
