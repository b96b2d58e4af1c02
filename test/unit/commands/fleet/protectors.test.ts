import assert from "node:assert/strict";
import { test } from "node:test";
import { listProtectors } from "../../../../src/commands/fleet/protectors.ts";
import { createFleet, createProtector } from "../support/fleet.ts";

test("PodProtectors are listed in pages, and invalid ones are told from valid ones", async () => {
  const { core, stop } = await createFleet();
  for (let index = 0; index < 251; index++) await createProtector(core, `web-${index}`);
  await core.create(core.protectors, "shop", {
    apiVersion: "podseidon.kubewharf.io/v1alpha1",
    kind: "PodProtector",
    metadata: { name: "bad" },
    spec: { minAvailable: "many" },
  });
  core.client.log = [];
  const { valid, invalid } = await listProtectors(core.client, undefined, stop.signal);
  assert.equal(valid.length, 251);
  assert.deepEqual(
    invalid.map(({ namespace, name }) => [namespace, name]),
    [["shop", "bad"]],
  );
  assert.match(invalid[0]?.reason ?? "", /^spec\.minAvailable: /);
  assert.equal(core.client.count(/podprotectors/), 2);
  assert.deepEqual(await listProtectors(core.client, "default", stop.signal), { valid: [], invalid: [] });
});
