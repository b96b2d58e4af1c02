import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { ScaleMemory } from "../../../src/scale/scale-memory.ts";
import { type HeldFloor, ScaledKind } from "../../../src/sources/scaled-kind.ts";
import { sourceKinds } from "../../../src/sources/index.ts";
import { databaseBody, scaledCrd } from "../../double/scaled-crd.ts";
import { EngineClient } from "../../support/engine-client.ts";
import { createCore } from "../generator/core-cluster.ts";

const { signal } = new AbortController();
const rule = { percentRounding: "at-least-one", singleReplica: "drainable" } as const;
const contentType = "application/merge-patch+json";
const resource = { group: "example.com", version: "v1", resource: "databases" };

async function bench(held?: HeldFloor) {
  const { engine } = await createCore();
  const type = await engine.installCrd(scaledCrd());
  const { metadata } = await engine.create(type, "default", databaseBody("orders", { members: 10 }));
  const client = new EngineClient("core", engine);
  const kind = new ScaledKind("databases.example.com", { memory: new ScaleMemory(client), heldFloorOf: () => held });
  kind.discovered({ resource, kind: "Database", isNamespaced: true, hasScale: true });
  const select = (selector: string | null) =>
    engine.patch(type, "default", "orders", { contentType, body: { status: { selector } } }, { subresource: "status" });
  const raw = (more: object = {}) => {
    const object = engine.get(type, "default", "orders");
    return { ...object, metadata: { ...object.metadata, ...more } };
  };
  const read = async (more: object = {}) => {
    const source = await kind.readLive(raw(more), signal);
    return source && { ...source.spec, floor: source.spec.floorBy(rule).minAvailable };
  };
  return { client, kind, select, read, uid: metadata.uid };
}

test("a kind has its names from the flag alone until its resource is served", () => {
  const memory = new ScaleMemory(new EngineClient("core", undefined as never));
  const kind = new ScaledKind("databases.example.com", { memory, heldFloorOf: () => undefined });
  assert.deepEqual([kind.kind, kind.prefix], ["databases.example.com", "scale.databases.example.com-"]);
  assert.deepEqual(kind.resource, { group: "example.com", version: "", resource: "databases" });
  kind.discovered({ resource, kind: "Database", isNamespaced: true, hasScale: true });
  assert.deepEqual([kind.kind, kind.apiVersion, kind.resource], ["Database", "example.com/v1", resource]);
  assert.ok(!sourceKinds.some(({ prefix }) => kind.prefix.startsWith(prefix) || prefix.startsWith(kind.prefix)));
  assert.equal(kind.readSpec(), undefined, "the object alone says nothing");
});

test("a quarter of the replicas of the scale may go", async () => {
  const { read, select } = await bench();
  await select("app=orders,tier in (a,b)");
  assert.partialDeepStrictEqual(await read(), {
    replicas: 10,
    minReadySeconds: 0,
    floor: 8,
    selector: { matchLabels: { app: "orders" }, matchExpressions: [{ key: "tier", values: ["a", "b"] }] },
  });
});

test("the last floor holds while the scale cannot be read, or has no selector", async () => {
  const { client, read, select } = await bench();
  await select("app=orders");
  await read();
  client.onRequest = () => new KubeError("forbidden", "403");
  await select("app=other");
  assert.partialDeepStrictEqual(await read(), { floor: 8, selector: { matchLabels: { app: "orders" } } });
  client.onRequest = () => undefined;
  await select(null);
  assert.partialDeepStrictEqual(await read(), { floor: 8, selector: { matchLabels: { app: "orders" } } });
});

test("what a PodProtector holds is the floor of an object that this process has never read", async () => {
  const held = { minAvailable: 7, minReadySeconds: 3, selector: { matchLabels: { app: "held" } } };
  const { read } = await bench(held);
  assert.partialDeepStrictEqual(await read(), { floor: 7, minReadySeconds: 3, selector: held.selector });
});

test("overrides count by the replicas of the scale, and by no guess where nobody knows these", async () => {
  const annotations = {
    "podseidon.kubewharf.io/min-available": "50%",
    "podseidon.kubewharf.io/min-ready-seconds": "9",
  };
  const { read, select } = await bench();
  await select("app=orders");
  assert.partialDeepStrictEqual(await read({ annotations }), { floor: 5, minReadySeconds: 9, replicas: 10 });
  assert.partialDeepStrictEqual(await read(), { floor: 8, minReadySeconds: 0 });
  await select(null);
  assert.partialDeepStrictEqual(await read({ annotations }), { floor: 5 }, "the last scale is what is known");
  const other = await bench({ minAvailable: 7, minReadySeconds: 3, selector: { matchLabels: { app: "held" } } });
  assert.partialDeepStrictEqual(await other.read({ annotations }), { floor: 7, minReadySeconds: 9 });
});

test("an object of which nothing is known is refused with the reason, unless it is only to be let go", async () => {
  const { client, kind, read } = await bench();
  await assert.rejects(read(), { kind: "invalid", message: /Database default\/orders.*status\.selector: it is empty/ });
  assert.equal((await read({ deletionTimestamp: "2026-01-01T00:00:00Z" }))?.replicas, 0);
  client.onRequest = () => new KubeError("forbidden", "403");
  await assert.rejects(read(), { kind: "invalid" }, "an unchanged object is not read again");
  await assert.rejects(read({ generation: 9 }), { kind: "forbidden" });
  client.onRequest = () => new KubeError("timeout", "slow");
  await assert.rejects(read({ generation: 9 }), { kind: "serverError" });
  client.onRequest = () => new KubeError("notFound", 'databases.example.com "orders" not found');
  await assert.rejects(read({ generation: 10 }), { kind: "conflict" }, "it has gone since it was read: no failure");
  assert.equal(await kind.readLive({ metadata: {} }, signal), undefined);
});

test("an object that is gone is forgotten", async () => {
  const { client, kind, read, select, uid } = await bench();
  await select("app=orders");
  await read();
  const before = client.log.length;
  await read();
  assert.equal(client.log.length, before);
  kind.forget(uid);
  await read();
  assert.equal(client.log.length, before + 1);
});
