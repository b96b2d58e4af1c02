import assert from "node:assert/strict";
import { test } from "node:test";
import { isReleased, restoreObjects } from "../../../../src/commands/restore/restored-objects.ts";
import { onLostCore } from "./lost-core.ts";

test("an object that is there with a status keeps it, one without gets the saved one", () =>
  onLostCore(async ({ fleet }) => {
    const { clock, core, stop } = fleet;
    const site = { core: core.client, clock, signal: stop.signal };
    const metadata = { namespace: "shop", name: "a" };
    const spec = { minAvailable: 1, minReadySeconds: 0, selector: {} };
    const summary = { totalReplicas: 9, aggregatedAvailableReplicas: 9, estimatedAvailableReplicas: 9 };
    const status = { cells: [], summary };
    const made = { metadata: { namespace: "shop", name: "new" }, spec, status };
    const counts = await restoreObjects(site, [{ metadata, spec, status }, made]);
    assert.deepEqual(counts, { created: 1, present: 1, statuses: 1, failures: [] });
  }));

test("an object that cannot be made is told, and the others are made", () =>
  onLostCore(async ({ fleet }) => {
    const site = { core: fleet.core.client, clock: fleet.clock, signal: fleet.stop.signal };
    const spec = { minAvailable: 1, minReadySeconds: 0, selector: {} };
    const { created, failures } = await restoreObjects(site, [
      { metadata: { namespace: "shop", name: "x" }, spec: { minAvailable: -1 } },
      { metadata: { namespace: "shop", name: "y" }, spec },
    ]);
    assert.equal(created, 1);
    assert.match(failures.join(), /^shop\/x: /);
  }));

test("an object that the generator has let go is released", () => {
  assert.equal(isReleased({ metadata: { annotations: { "podseidon.kubewharf.io/released": "x" } } }), true);
  assert.equal(isReleased({ metadata: {} }), false);
});
