/** Custom resources as sources: what protects them, what costs a request, and what does not take a floor away. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { finalizer } from "../../../../src/api/v1alpha1/names.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { builtInResources, type JsonObject, permissivePodProtectorCrd } from "../../../double/index.ts";
import { databaseBody, scaledCrd } from "../../../double/scaled-crd.ts";
import { createCore, hasFinalizer, isInForce } from "../core-cluster.ts";

const secondMs = 1_000;
const sources = ["deployments.apps", "databases.example.com"] as const;
const scaleGet = /^GET .*\/databases\/[^/]+\/scale$/;
const name = "scale.databases.example.com-orders";

async function start({ hasCrd = true } = {}) {
  const core = await createCore();
  const { engine, clock } = core;
  const install = () => engine.installCrd(scaledCrd());
  const type = await install();
  if (!hasCrd) await engine.delete(builtInResources.customResourceDefinitions, undefined, "databases.example.com");
  const generator = core.startGenerator({}, { sources });
  await generator.ready();
  const patch = async (body: JsonObject, subresource?: "status") => {
    const change = { contentType: "application/merge-patch+json", body } as const;
    await engine.patch(type, "default", "orders", change, subresource === undefined ? {} : { subresource });
    await clock.advance(2 * secondMs);
  };
  return {
    core,
    generator,
    type,
    install,
    patch,
    select: (selector: string | null) => patch({ status: { selector } }, "status"),
    create: async (spec?: JsonObject) => {
      await engine.create(type, "default", databaseBody("orders", spec));
      await clock.advance(2 * secondMs);
    },
    database: () => engine.find(type, "default", "orders"),
    protector: () => core.protector(name),
    floor: () => {
      const protector = core.protector(name);
      return isInForce(protector) ? protector?.spec?.["minAvailable"] : undefined;
    },
    reasons: () => core.events().map((event) => String(event["reason"])),
    reads: () => generator.client.count(scaleGet),
  };
}

async function startProtected() {
  const world = await start();
  await world.create({ members: 10 });
  await world.select("app=orders");
  assert.equal(world.floor(), 8);
  return world;
}

test("a custom resource gets a PodProtector by its scale, which follows it to its end", async () => {
  const { core, generator, type, patch, database, protector, floor } = await startProtected();
  assert.deepEqual(protector()?.spec, {
    minAvailable: 8,
    minReadySeconds: 0,
    selector: { matchLabels: { app: "orders" } },
    // Its pods may be anybody's.
    foreignOwners: [],
  });
  const owner = { apiVersion: "example.com/v1", kind: "Database", name: "orders", uid: database()?.metadata.uid };
  assert.partialDeepStrictEqual(protector()?.metadata, { finalizers: [finalizer], ownerReferences: [owner] });
  assert.ok(hasFinalizer(database()));
  await patch({ spec: { members: 20 } });
  assert.equal(floor(), 15);
  await patch({ spec: { members: 0 } });
  assert.equal(floor(), 0, "a scale of no replicas is a word of its owner");
  await core.engine.delete(type, "default", "orders");
  await core.clock.advance(5 * secondMs);
  assert.deepEqual([database(), protector()], [undefined, undefined]);
  assert.deepEqual(generator.errors(), []);
});

test("a scale is read when its object changes in what matters, and not for a heartbeat in the status", async () => {
  const { patch, select, reads, protector } = await startProtected();
  const before = reads();
  for (const beat of ["1", "2", "3"]) await patch({ status: { lastSeen: beat, members: 3 } }, "status");
  await patch({ metadata: { labels: { a: "b" } } });
  assert.equal(reads(), before);
  await patch({ spec: { members: 12 } });
  assert.equal(reads(), before + 1);
  await select("app=other");
  assert.equal(reads(), before + 2);
  assert.deepEqual(protector()?.spec?.["selector"], { matchLabels: { app: "other" } });
});

test("an object without a selector is not protected yet, and people are told when that lasts", async () => {
  const { core, generator, create, select, floor, reasons } = await start();
  await create();
  await core.clock.advance(10 * secondMs);
  assert.deepEqual([floor(), reasons()], [undefined, []]);
  await core.clock.advance(60 * secondMs);
  assert.deepEqual(reasons(), ["ScaleUnreadable"]);
  assert.match(JSON.stringify(core.events()), /not protected until that is done.*status\.selector/);
  assert.deepEqual(generator.unreadable(), [1]);
  await select("app=orders");
  assert.equal(floor(), 4);
  assert.deepEqual(generator.unreadable(), [0]);
});

const forbidden = new KubeError("forbidden", "403 Forbidden: cannot get resource databases/scale");
const troubles = {
  "no selector any more": (world: Awaited<ReturnType<typeof start>>) => world.select(null),
  "no replicas any more": (world: Awaited<ReturnType<typeof start>>) => world.patch({ spec: { members: null } }),
  "a scale that is forbidden": async (world: Awaited<ReturnType<typeof start>>) => {
    world.generator.client.onRequest = (_, what) => (scaleGet.test(what) ? forbidden : undefined);
    await world.patch({ spec: { members: 1 } });
  },
};

for (const [what, cause] of Object.entries(troubles)) {
  test(`${what} keeps the last floor, is told, and does not keep the object from being deleted`, async () => {
    const world = await startProtected();
    const { core, generator, floor, database, reasons } = world;
    await cause(world);
    await core.clock.advance(60 * secondMs);
    assert.equal(floor(), 8);
    assert.ok(reasons().includes("ScaleUnreadable"), String(reasons()));
    await core.patchProtector(name, { spec: { minAvailable: 1 } });
    await core.clock.advance(5 * secondMs);
    assert.equal(floor(), 8, "drift is repaired to the last floor");
    await generator.stop();
    const next = core.startGenerator({}, { sources });
    next.client.onRequest = generator.client.onRequest;
    await next.ready();
    await core.clock.advance(5 * secondMs);
    assert.equal(floor(), 8, "a new process has the floor from the PodProtector");
    await core.engine.delete(world.type, "default", "orders");
    await core.clock.advance(10 * secondMs);
    assert.deepEqual([database(), floor()], [undefined, undefined]);
    await next.stop();
  });
}

test("a CRD that is missing is waited for, while other kinds go on", async () => {
  const { core, install, create, select, floor } = await start({ hasCrd: false });
  await core.createDeployment("web");
  await core.clock.advance(70 * secondMs);
  assert.ok(isInForce(core.protector("deployment-web")));
  await install();
  await core.clock.advance(30 * secondMs);
  await create();
  await select("app=orders");
  assert.equal(floor(), 4);
});

test("a CRD that disappears drops nothing, and one that comes back in another version is worked for", async () => {
  const { core, generator, type, floor, database } = await startProtected();
  core.engine.wipe(type);
  core.engine.wipe(builtInResources.customResourceDefinitions);
  await core.engine.installCrd(permissivePodProtectorCrd());
  generator.client.dropWatches();
  await core.clock.advance(120 * secondMs);
  assert.equal(floor(), 8);
  const v2 = await core.engine.installCrd(scaledCrd({ version: "v2" }));
  const body = { ...databaseBody("orders", { members: 20 }), apiVersion: "example.com/v2" };
  await core.engine.create(v2, "default", body);
  const change = { contentType: "application/merge-patch+json", body: { status: { selector: "app=orders" } } } as const;
  await core.engine.patch(v2, "default", "orders", change, { subresource: "status" });
  await core.clock.advance(120 * secondMs);
  assert.equal(floor(), 15);
  assert.equal(database()?.["apiVersion"], "example.com/v2");
});

test("PodProtectors of custom resources that are not named stay as they are, and are counted", async () => {
  const { core, generator, floor } = await startProtected();
  await generator.stop();
  const next = core.startGenerator();
  await next.ready();
  await core.clock.advance(30 * secondMs);
  assert.deepEqual([floor(), next.troubles().ignored], [8, 1]);
});
