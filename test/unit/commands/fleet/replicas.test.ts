import assert from "node:assert/strict";
import { test } from "node:test";
import { listReplicas } from "../../../../src/commands/fleet/replicas.ts";
import { builtInResources, type JsonObject } from "../../../double/index.ts";
import { createFleet, systemNamespace } from "../support/fleet.ts";

test("replicas are those of the Deployments with the labels of the manifests", async () => {
  const { core, stop } = await createFleet();
  const { deployments } = builtInResources;
  const create = async (name: string, labels: JsonObject, ready: number): Promise<void> => {
    const created = await core.create(deployments, systemNamespace, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name, labels },
      spec: { replicas: 3, selector: { matchLabels: { a: name } }, template: { metadata: { labels: { a: name } } } },
    });
    const body = { ...created, status: { readyReplicas: ready } };
    await core.engine.update(deployments, systemNamespace, name, body, { subresource: "status" });
  };
  const ours = { "app.kubernetes.io/name": "podseidon" };
  await create("webhook", { ...ours, "app.kubernetes.io/component": "webhook" }, 2);
  await create("other", {}, 3);
  await create("unlabelled", ours, 3);
  assert.deepEqual(await listReplicas(core.client, systemNamespace, stop.signal), [
    { name: "webhook", component: "webhook", ready: 2, wanted: 3 },
  ]);
});
