import assert from "node:assert/strict";
import { test } from "node:test";
import { targetPods } from "../../../src/scale/target-pods.ts";
import { builtInResources } from "../../double/index.ts";
import { createOwners } from "./owners.ts";

const web = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
const orders = { apiVersion: "example.com/v1", kind: "Database", name: "orders" };

async function start() {
  const owners = await createOwners();
  const { options, signal, answer } = owners;
  return { ...owners, ask: (target = web) => answer(targetPods("default", target, options, signal)) };
}

test("pods of a built-in kind are those of its selector, and cost no request", async () => {
  const { ask, createDeployment, engine, client, stop } = await start();
  const { spec } = await createDeployment("web", { replicas: 7 });
  const selector = spec?.["selector"];
  assert.partialDeepStrictEqual(await ask(), { kind: "known", replicas: 7, selector });
  const labels = { app: "old" };
  await engine.create(builtInResources.replicationControllers, "default", {
    apiVersion: "v1",
    kind: "ReplicationController",
    metadata: { name: "old", namespace: "default" },
    spec: { replicas: 2, selector: labels, template: { metadata: { labels }, spec: { containers: [] } } },
  });
  const controller = { apiVersion: "v1", kind: "ReplicationController", name: "old" };
  assert.partialDeepStrictEqual(await ask(controller), { replicas: 2, selector: { matchLabels: labels } });
  assert.equal(client.count(/\/scale$/), 0);
  await stop();
});

test("pods of another kind are what its scale says, which is read once", async () => {
  const { ask, engine, databases, createDatabase, client, stop } = await start();
  await createDatabase("orders", 3);
  assert.match(JSON.stringify(await ask(orders)), /scale\.status\.selector of Database orders: it is empty/);
  const selector = { contentType: "application/merge-patch+json", body: { status: { selector: "app=orders" } } };
  await engine.patch(databases, "default", "orders", selector, { subresource: "status" });
  const answer = await ask(orders);
  assert.partialDeepStrictEqual(answer, { replicas: 3, selector: { matchLabels: { app: "orders" } } });
  const reads = client.count(/\/scale$/);
  assert.deepEqual(await ask(orders), answer);
  assert.equal(client.count(/\/scale$/), reads, "what has not changed is not read again");
  await stop();
});

test("what is not there, or has no scale, is not known", async () => {
  const { ask, stop } = await start();
  const wrong: readonly (readonly [typeof web, RegExp])[] = [
    [web, /Deployment web is not there/],
    [{ ...web, kind: "Deploymint" }, /Deploymint of apps\/v1 is not served/],
    [{ apiVersion: "v1", kind: "ConfigMap", name: "a" }, /ConfigMap has no subresource scale/],
  ];
  for (const [target, text] of wrong) {
    const answer = await ask(target);
    assert.ok(answer.kind === "unknown" && text.test(answer.trouble.text), JSON.stringify(answer));
  }
  await stop();
});
