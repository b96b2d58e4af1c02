import assert from "node:assert/strict";
import { test } from "node:test";
import { finalizer } from "../../../../src/api/v1alpha1/names.ts";
import { findGuardedSources, readCustomKinds } from "../../../../src/commands/uninstall/source-finalizers.ts";
import { nameOf } from "../../../../src/commands/uninstall/target.ts";
import { builtInResources as types } from "../../../double/index.ts";
import { forbid } from "../support/fleet.ts";
import { installed, InstalledCluster } from "./installed-cluster.ts";

test("workloads with our finalizer are found, built-in and custom, terminating or not, and no others", async () => {
  const { cluster } = await installed();
  await cluster.fleet.core.engine.delete(types.deployments, "shop", "web");
  const { targets, obstacles } = await findGuardedSources(cluster.site);
  assert.deepEqual(obstacles, []);
  assert.deepEqual(
    targets.map((target) => [target.kind, nameOf(target), target.isTerminating]),
    [
      ["Deployment", "shop/web", true],
      ["StatefulSet", "shop/db", false],
      ["Database", "default/main", false],
    ],
  );
});

test("where the generator never was, none is found", async () => {
  const { site } = await InstalledCluster.create({ isSmall: true });
  assert.deepEqual((await findGuardedSources(site)).targets, []);
});

test("more workloads than a page has are all found", async () => {
  const cluster = await InstalledCluster.create({ isSmall: true });
  const template = { metadata: { labels: { app: "a" } }, spec: { containers: [{ name: "main", image: "web:1" }] } };
  const spec = { selector: { matchLabels: { app: "a" } }, template };
  for (let index = 0; index < 300; index += 1) {
    const metadata = { name: `many-${index}`, finalizers: [finalizer] };
    await cluster.make("Deployment", "shop", { apiVersion: "apps/v1", kind: "Deployment", metadata, spec });
  }
  const { log } = cluster.fleet.core.client;
  assert.equal((await findGuardedSources(cluster.site)).targets.length, 300);
  assert.equal(log.filter((what) => what.endsWith("/apis/apps/v1/deployments")).length, 2);
});

test("custom kinds are those of namespaced CRDs, or only those with a scale, and never PodProtectors", async () => {
  const { cluster } = await installed();
  const scaled = await readCustomKinds(cluster.site, { mustScale: true });
  const database = { kind: "Database", resource: { group: "example.com", version: "v1", resource: "databases" } };
  assert.deepEqual(scaled, { kinds: [database], obstacles: [] });
  const { kinds } = await readCustomKinds(cluster.site, { mustScale: false });
  const names = kinds.map(({ kind }) => kind);
  assert(names.includes("RoleBinding"));
  assert(!names.includes("ClusterRole"));
  assert(!names.includes("PodProtector"));
});

test("CRDs that may not be listed are an obstacle", async () => {
  const { cluster } = await installed({ isSmall: true });
  forbid(cluster.fleet.core, /customresourcedefinitions$/);
  const { kinds, obstacles } = await readCustomKinds(cluster.site, { mustScale: true });
  assert.deepEqual(kinds, []);
  assert.match(obstacles[0]?.problem ?? "", /you may not list customresourcedefinitions/);
});
