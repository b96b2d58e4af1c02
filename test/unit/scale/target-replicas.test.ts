import assert from "node:assert/strict";
import { test } from "node:test";
import { type FloorTarget } from "../../../src/api/v1alpha1/pod-protector.ts";
import { targetReplicas } from "../../../src/scale/target-replicas.ts";
import { controlledBy, createOwners } from "./owners.ts";

const web: FloorTarget = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
const database = (name: string): FloorTarget => ({ apiVersion: "example.com/v1", kind: "Database", name });
const selected = { apiVersion: "apps/v1", kind: "Deployment", selector: { matchLabels: { team: "shop" } } };

async function start() {
  const owners = await createOwners();
  const { options, signal, answer } = owners;
  return {
    ...owners,
    ask: (...targets: FloorTarget[]) => answer(targetReplicas("default", targets, options, signal)),
  };
}

test("several workloads of several kinds are one sum, and each counts once", async () => {
  const { ask, createDeployment, createDatabase, client, stop } = await start();
  await createDeployment("web", { replicas: 7, metadata: { labels: { team: "shop" } } });
  await createDeployment("api", { replicas: 2, metadata: { labels: { team: "shop" } } });
  await createDeployment("other", { replicas: 50 });
  await createDatabase("orders", 3);
  assert.partialDeepStrictEqual(await ask(web, database("orders"), web), { kind: "known", replicas: 10 });
  assert.partialDeepStrictEqual(await ask(web, selected), { kind: "known", replicas: 9 });
  assert.equal(client.count(/\/scale$/), 1, "built-in kinds need no scale");
  await ask(database("orders"));
  assert.equal(client.count(/\/scale$/), 1, "and what has not changed is not read again");
  await stop();
});

test("what is not there, or cannot be scaled, is said with its target", async () => {
  const { ask, createDeployment, createPlain, stop } = await start();
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
  await stop();
});

test("a kind that may not be listed, or cannot be now, leaves the sum unknown", async () => {
  const { KubeError } = await import("../../../src/kube/kube-client.ts");
  const { ask, client, createDeployment, stop } = await start();
  await createDeployment("web");
  client.onRequest = (_, what) => (/statefulsets/.test(what) ? new KubeError("forbidden", "403") : undefined);
  const answer = await ask(web, { apiVersion: "apps/v1", kind: "StatefulSet", name: "db" });
  assert.partialDeepStrictEqual(answer, { kind: "lasting" });
  await stop();
});

test("the kinds of what was deleted are told, with those that control it, since a CRD may have gone", async () => {
  const { ask, createDeployment, deleteDeployment, patchDeployment, createPlain, clock, stop } = await start();
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
  await stop();
});
