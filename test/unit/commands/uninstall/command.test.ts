import assert from "node:assert/strict";
import { test } from "node:test";
import { installed } from "./installed-cluster.ts";

test("single takes everything of Podseidon away, and leaves everything else as it was", async () => {
  const { cluster, before } = await installed();
  const { exitCode, stdout, problem, stderr } = await cluster.uninstall("single", "--yes");
  console.log(stdout, stderr);
  assert.equal(exitCode, 0, problem ?? "");
  assert.deepEqual(cluster.inventory(), before);
});
