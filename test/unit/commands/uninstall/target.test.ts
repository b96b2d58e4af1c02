import assert from "node:assert/strict";
import { test } from "node:test";
import { find, nameOf, remove, removeFinalizer, together } from "../../../../src/commands/uninstall/target.ts";
import { builtInResources as types } from "../../../double/index.ts";
import { forbid } from "../support/fleet.ts";
import { InstalledCluster } from "./installed-cluster.ts";

const kind = { kind: "Deployment", resource: { group: "apps", version: "v1", resource: "deployments" } };

async function findWeb(cluster: InstalledCluster) {
  const { targets } = await find(cluster.site, kind, ({ metadata }) => (metadata as { name: string }).name === "web");
  const [web] = targets;
  assert(web !== undefined);
  return web;
}

test("an object is found with what its deletion needs", async () => {
  const cluster = await InstalledCluster.create({ isSmall: true });
  const { uid, resourceVersion, ...rest } = await findWeb(cluster);
  const stored = cluster.fleet.core.engine.get(types.deployments, "shop", "web").metadata;
  assert.deepEqual([uid, resourceVersion], [stored.uid, stored.resourceVersion]);
  assert.deepEqual(rest, {
    ...kind,
    namespace: "shop",
    name: "web",
    finalizers: ["example.com/other"],
    isTerminating: false,
  });
  assert.equal(nameOf(rest), "shop/web");
  assert.equal(nameOf({ namespace: undefined, name: "web" }), "web");
});

test("a kind that is not served has no objects, and one that may not be read says which right is missing", async () => {
  const cluster = await InstalledCluster.create({ isSmall: true });
  const unknown = { kind: "Thing", resource: { group: "example.com", version: "v1", resource: "things" } };
  assert.deepEqual(await find(cluster.site, unknown, () => true), { targets: [], obstacles: [] });
  forbid(cluster.fleet.core, /deployments/);
  const problem = "core: you may not list deployments.apps; ask for the role cluster-admin";
  const unread = await find(cluster.site, kind, () => true);
  assert.deepEqual(unread, { targets: [], obstacles: [{ isFinal: true, problem }] });
  assert.deepEqual(together([unread, unread]).obstacles.length, 2);
});

test("a deletion is for that very object, and one that is gone needs none", async () => {
  const cluster = await InstalledCluster.create({ isSmall: true });
  const web = await findWeb(cluster);
  const other = await remove(cluster.site, { ...web, uid: "another" });
  assert.equal(other?.isFinal, false);
  assert.equal(await remove(cluster.site, web), undefined);
  assert.equal((await findWeb(cluster)).isTerminating, true);
  assert.equal(await remove(cluster.site, { ...web, name: "gone" }), undefined);
});

test("a finalizer is taken off the version that was seen, and the others stay", async () => {
  const cluster = await InstalledCluster.create({ isSmall: true });
  const before = await findWeb(cluster);
  await cluster.guard("Deployment", "shop", "web");
  const stale = await removeFinalizer(cluster.site, before, "podseidon.kubewharf.io/generator");
  assert.equal(stale?.isFinal, false);
  const guarded = await findWeb(cluster);
  assert.equal(guarded.finalizers.length, 2);
  assert.equal(await removeFinalizer(cluster.site, guarded, "podseidon.kubewharf.io/generator"), undefined);
  assert.deepEqual((await findWeb(cluster)).finalizers, ["example.com/other"]);
});
