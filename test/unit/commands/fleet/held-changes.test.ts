import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations, finalizer, sourceLabels } from "../../../../src/api/v1alpha1/names.ts";
import { readHeldChanges } from "../../../../src/commands/fleet/held-changes.ts";
import { encodeLatches, latchesKey } from "../../../../src/generator/mass-changes/latches/latches.ts";
import { generatorStateName } from "../../../../src/kube/generator-state.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import { builtInResources, builtInResources as types } from "../../../double/index.ts";
import { createCellLease, createFleet, createProtector, type Fleet, systemNamespace } from "../support/fleet.ts";

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

/** A fleet whose generator was heard so long ago, and one of whose two Deployments is being deleted. */
async function fleetWithout(generatorHeardAgoMs: number): Promise<Fleet> {
  const fleet = await createFleet();
  await createCellLease(fleet.core, fleet.clock, undefined, { agoMs: generatorHeardAgoMs });
  for (const name of ["web", "api"]) {
    const spec = { selector: { matchLabels: { app: name } }, template: { metadata: { labels: { app: name } } } };
    const metadata = { name, finalizers: [finalizer] };
    await fleet.core.create(types.deployments, "shop", { apiVersion: "apps/v1", kind: "Deployment", metadata, spec });
    await createProtector(fleet.core, `deployment-${name}`, {
      metadata: {
        labels: {
          [sourceLabels.kind]: "Deployment",
          [sourceLabels.group]: "apps",
          [sourceLabels.resource]: "deployments",
        },
        ownerReferences: [{ apiVersion: "apps/v1", kind: "Deployment", name, uid: "u" }],
      },
    });
  }
  await fleet.core.client.request({ method: "DELETE", path: "/apis/apps/v1/namespaces/shop/deployments/web" });
  fleet.core.client.log = [];
  return fleet;
}

const waits = /waiting {4}Deployment shop\/web is being deleted for .* s, and stays until a\s+generator leads/;

test("status names what is being deleted while no generator leads", async () => {
  const fleet = await fleetWithout(90_000);
  const { stdout, exitCode } = await fleet.run("status");
  assert.match(stdout, waits);
  assert.doesNotMatch(stdout, /shop\/api is being deleted/);
  assert.equal(exitCode, 1);
  const json = JSON.parse((await fleet.run("status", "-o", "json")).stdout);
  assert.deepEqual(
    json.cores[0].waitingForGenerator.map(({ kind, name }: Record<string, string>) => [kind, name]),
    [["Deployment", "web"]],
  );
});

test("while one leads workloads are not even read", async () => {
  const fleet = await fleetWithout(5_000);
  const { stdout } = await fleet.run("status");
  assert.doesNotMatch(stdout, /is being deleted/);
  assert.deepEqual(
    fleet.core.client.log.filter((line) => line === "GET /apis/apps/v1/deployments"),
    [],
  );
});

test("check names it, with the command that takes the finalizer off", async () => {
  const fleet = await fleetWithout(90_000);
  const { stdout } = await fleet.run("check", "-o", "json");
  const groups = JSON.stringify(JSON.parse(stdout));
  assert.match(groups, /1 workload being deleted until a generator leads: Deployment shop\/web/);
  assert.match(groups, /kubectl -n shop patch deployments\.apps web --type=json/);
});
