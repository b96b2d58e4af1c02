import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { readHeldChanges } from "../../../../src/commands/fleet/held-changes.ts";
import { encodeLatches, latchesKey } from "../../../../src/generator/mass-changes/latches.ts";
import { generatorStateName } from "../../../../src/kube/generator-state.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import { builtInResources } from "../../../double/index.ts";
import { createFleet, systemNamespace } from "../support/fleet.ts";

test("held causes, approvals that still hold, and what was let go are read from the ConfigMap", async () => {
  const { core, clock, stop } = await createFleet();
  const now = clock.epochMicros();
  const [before, after] = [(now - 1_000_000) as EpochMicros, (now + 1_000_000) as EpochMicros];
  const approvals = [
    { cause: "a", at: before, until: after, text: "{}" },
    { cause: "b", at: before, until: before, text: "{}" },
  ];
  await core.create(builtInResources.configMaps, systemNamespace, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: generatorStateName, annotations: { [annotations.approve]: "text" } },
    data: { [latchesKey]: encodeLatches({ latched: new Map([["c", before]]), approvals }), "uid.1": "why", other: "" },
  });
  const read = await readHeldChanges(core.client, systemNamespace, () => now, stop.signal);
  assert.deepEqual(read.held, [{ cause: "c", since: before }]);
  assert.deepEqual(
    read.approved.map(({ cause }) => cause),
    ["a"],
  );
  assert.deepEqual([read.approval, read.letGo], ["text", [{ uid: "1", note: "why" }]]);
});

test("a ConfigMap that does not exist holds nothing", async () => {
  const { core, clock, stop } = await createFleet();
  const read = await readHeldChanges(core.client, systemNamespace, () => clock.epochMicros(), stop.signal);
  assert.deepEqual([read.held, read.approved, read.approval, read.letGo], [[], [], undefined, []]);
});
