import assert from "node:assert/strict";
import { test } from "node:test";
import { findGuardedSources } from "../../../../src/commands/uninstall/source-finalizers.ts";
import { nameOf } from "../../../../src/commands/uninstall/target.ts";
import { builtInResources as types } from "../../../double/index.ts";
import { InstalledCluster, installed } from "./installed-cluster.ts";

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
