import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { writeFleetKubeconfig } from "../../../scripts/demo/world/fleet-kubeconfig.ts";

test("a kubeconfig has a context for the core, the current one, and for each cell, with the namespace", (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), "podseidon-kubeconfig-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, "kubeconfig");
  writeFleetKubeconfig(file, "http://127.0.0.1:1", [{ name: "worker-1", server: { url: "http://127.0.0.1:2" } }]);
  const config = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
  assert.equal(config["current-context"], "core");
  assert.deepEqual(config["contexts"], [
    { name: "core", context: { cluster: "core", namespace: "shop" } },
    { name: "worker-1", context: { cluster: "worker-1", namespace: "shop" } },
  ]);
  assert.deepEqual(config["clusters"], [
    { name: "core", cluster: { server: "http://127.0.0.1:1" } },
    { name: "worker-1", cluster: { server: "http://127.0.0.1:2" } },
  ]);
  assert.equal(statSync(file).mode & 0o777, 0o600);
});
