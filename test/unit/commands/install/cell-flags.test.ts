import assert from "node:assert/strict";
import { test } from "node:test";
import { cellFlags } from "../../../../src/commands/install/cell-flags.ts";

test("each cell has a kubeconfig of its name, and a client certificate of its name where certificates tell", () => {
  const { configs, callers } = cellFlags("certificates", ["a", "b"]);
  assert.equal(
    configs,
    "--webhook-worker-client-provider.map-configs=a=/etc/podseidon/workers/a,b=/etc/podseidon/workers/b",
  );
  assert.deepEqual(callers, ["--webhook-client-cells=a=a,b=b"]);
});

test("where the network tells who calls, no certificate is asked for, and the cells are named", () => {
  assert.deepEqual(cellFlags("network", ["a", "b"]).callers, [
    "--webhook-client-ca-file=",
    "--webhook-allowed-cells=a,b",
  ]);
});
