import assert from "node:assert/strict";
import { test } from "node:test";
import { cellLeaseName } from "../../../../src/api/cell-lease.ts";
import { createAggregator } from "../../../../src/roles/aggregator.ts";
import { builtInResources as types } from "../../../double/engine/resources.ts";
import { cellID, rigFor } from "../../aggregator/rig.ts";
import { createEngineRuntime } from "../engine-runtime.ts";

test("the leader tells that nothing reviews deletions: by Event and by annotation on the cell's Lease", async (t) => {
  const rig = await rigFor(t);
  const runtime = createEngineRuntime(rig, ["--role=aggregator", `--aggregator-cell-id=${cellID}`]);
  const stop = await rig.run(createAggregator(runtime));
  await rig.clock.advance(150_000);
  const lease = rig.coreEngine.get(types.leases, "default", cellLeaseName(cellID));
  assert.equal(lease.metadata.annotations?.["podseidon.kubewharf.io/gate"], "missing");
  assert.equal(runtime.metrics.value("aggregator_gate", { state: "missing" }), 1);
  assert.equal(runtime.coreHeartbeat.count(/^POST .*events$/), 1);
  assert.ok(runtime.worker.count(/^DELETE .*podseidon-update-trigger$/) >= 2);
  assert.notEqual(rig.workerEngine.find(types.pods, "default", "podseidon-update-trigger"), undefined);
  await stop();
});
