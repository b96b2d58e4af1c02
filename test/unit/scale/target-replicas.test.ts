import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { type FloorTarget } from "../../../src/api/v1alpha1/pod-protector.ts";
import { targetReplicas, targetPods } from "../../../src/scale/target-replicas.ts";
import { controlledBy, createOwners } from "./owners.ts";
import { builtInResources } from "../../double/index.ts";

const web = { apiVersion: "apps/v1", kind: "Deployment", name: "web" } satisfies FloorTarget;
const database = (name: string): FloorTarget => ({ apiVersion: "example.com/v1", kind: "Database", name });
const selected = { apiVersion: "apps/v1", kind: "Deployment", selector: { matchLabels: { team: "shop" } } };

async function start(t: TestContext) {
  const owners = await createOwners(t);
  const { options, signal, answer } = owners;
  return {
    ...owners,
    ask: (...targets: FloorTarget[]) => answer(targetReplicas("default", targets, options, signal)),
  };
}

test("several workloads of several kinds are one sum, and each counts once", async (t) => {
  const { ask, createDeployment, createDatabase, client } = await start(t);
  await createDeployment("web", { replicas: 7, metadata: { labels: { team: "shop" } } });
  await createDeployment("api", { replicas: 2, metadata: { labels: { team: "shop" } } });
  await createDeployment("other", { replicas: 50 });
  await createDatabase("orders", 3);
  assert.partialDeepStrictEqual(await ask(web, database("orders"), web), { kind: "known", replicas: 10 });
  assert.partialDeepStrictEqual(await ask(web, selected), { kind: "known", replicas: 9 });
  assert.equal(client.count(/\/scale$/), 1, "built-in kinds need no scale");
  await ask(database("orders"));
  assert.equal(client.count(/\/scale$/), 1, "and what has not changed is not read again");
});

test("what is not there, or cannot be scaled, is said with its target", async (t) => {
  const { ask, createDeployment, createPlain } = await start(t);
  await createDeployment("web");
  await createPlain("thing");
  const wrong: readonly (readonly [FloorTarget, RegExp])[] = [
    [{ ...web, name: "nobody" }, /targets\[1\]: Deployment nobody is not there/],
    [{ ...web, apiVersion: "apps/v9", kind: "Deploymint" }, /targets\[1\]: Deploymint of apps\/v9 is not served/],
    [{ apiVersion: "v1", kind: "ConfigMap", name: "a" }, /targets\[1\]: ConfigMap has no subresource scale/],
    [{ apiVersion: "v1", kind: "Namespace", name: "default" }, /targets\[1\]: a Namespace is in no namespace/],
    [{ apiVersion: "plain.example.com/v1", kind: "Database", name: "thing" }, /no subresource scale/],
    [selected, /targets\[1\]: no Deployment has the labels/],
  ];
  for (const [target, text] of wrong) {
    const answer = await ask(web, target);
    assert.ok(answer.kind === "lasting", JSON.stringify([target, answer]));
    assert.match(answer.text, text);
  }
});

test("a kind that may not be listed, or cannot be now, leaves the sum unknown", async (t) => {
  const { KubeError } = await import("../../../src/kube/kube-client.ts");
  const { ask, client, createDeployment } = await start(t);
  await createDeployment("web");
  client.onRequest = (_, what) => (/statefulsets/.test(what) ? new KubeError("forbidden", "403") : undefined);
  const answer = await ask(web, { apiVersion: "apps/v1", kind: "StatefulSet", name: "db" });
  assert.partialDeepStrictEqual(answer, { kind: "lasting" });
});

test("the kinds of what was deleted are told, with those that control it, since a CRD may have gone", async (t) => {
  const { ask, createDeployment, deleteDeployment, patchDeployment, createPlain, clock } = await start(t);
  const metadata = { labels: { team: "shop" }, finalizers: ["example.com/wait"] };
  const ownerReferences = [...controlledBy(await createPlain("app"))];
  await createDeployment("web", { metadata: { ...metadata, ownerReferences } });
  await createDeployment("api", { replicas: 2, metadata });
  assert.partialDeepStrictEqual(await ask(selected), { kind: "known", replicas: 12, ended: [] });
  await deleteDeployment("web");
  await clock.advance(1_000);
  const kinds = [{ kind: "Deployment" }, { kind: "Database", resource: { group: "plain.example.com" } }];
  assert.partialDeepStrictEqual(await ask(selected), { kind: "known", replicas: 2, ended: kinds });
  const unserved = [{ ...ownerReferences[0]!, apiVersion: "gone.example.com/v1" }];
  await patchDeployment("web", { metadata: { ownerReferences: unserved } });
  await clock.advance(1_000);
  const answer = await ask(selected);
  assert.ok(answer.kind === "lasting");
  assert.match(answer.text, /Database of gone\.example\.com\/v1 is not served/);
});

const orders = { apiVersion: "example.com/v1", kind: "Database", name: "orders" };

async function startPods(t: TestContext) {
  const owners = await createOwners(t);
  const { options, signal, answer } = owners;
  return { ...owners, ask: (target = web) => answer(targetPods("default", target, options, signal)) };
}

test("pods of a built-in kind are those of its selector, and cost no request", async (t) => {
  const { ask, createDeployment, engine, client } = await startPods(t);
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
});

test("pods of another kind are what its scale says, which is read once", async (t) => {
  const { ask, engine, databases, createDatabase, client } = await startPods(t);
  await createDatabase("orders", 3);
  assert.match(JSON.stringify(await ask(orders)), /scale\.status\.selector of Database orders: it is empty/);
  const selector = { contentType: "application/merge-patch+json", body: { status: { selector: "app=orders" } } };
  await engine.patch(databases, "default", "orders", selector, { subresource: "status" });
  const answer = await ask(orders);
  assert.partialDeepStrictEqual(answer, { replicas: 3, selector: { matchLabels: { app: "orders" } } });
  const reads = client.count(/\/scale$/);
  assert.deepEqual(await ask(orders), answer);
  assert.equal(client.count(/\/scale$/), reads, "what has not changed is not read again");
});

test("what is not there, or has no scale, is not known", async (t) => {
  const { ask } = await startPods(t);
  const wrong: readonly (readonly [typeof web, RegExp])[] = [
    [web, /Deployment web is not there/],
    [{ ...web, kind: "Deploymint" }, /Deploymint of apps\/v1 is not served/],
    [{ apiVersion: "v1", kind: "ConfigMap", name: "a" }, /ConfigMap has no subresource scale/],
  ];
  for (const [target, text] of wrong) {
    const answer = await ask(target);
    assert.ok(answer.kind === "unknown" && text.test(answer.trouble.text), JSON.stringify(answer));
  }
});
