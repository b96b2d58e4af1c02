import assert from "node:assert/strict";
import { test } from "node:test";
import { readCustomKinds } from "../../../../src/commands/uninstall/custom-kinds.ts";
import { forbid } from "../support/fleet.ts";
import { installed } from "./installed-cluster.ts";

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
