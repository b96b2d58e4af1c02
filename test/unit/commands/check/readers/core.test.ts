import assert from "node:assert/strict";
import { test } from "node:test";
import { readCore } from "../../../../../src/commands/check/readers/core.ts";
import { builtInResources as types } from "../../../../double/index.ts";
import {
  ago,
  createCellLease,
  createFleet,
  createProtector,
  type Fleet,
  forbid,
  systemNamespace,
} from "../../support/fleet.ts";

async function readFacts({ core, clock, stop }: Fleet) {
  return readCore("tokyo", core.client, systemNamespace, { clock, signal: stop.signal });
}

test("a core is read whole: its CRD, objects, Leases, Events and modes", async () => {
  const fleet = await createFleet();
  const { core, clock } = fleet;
  await createCellLease(core, clock, "worker-1");
  await createProtector(core, "api");
  const namespace = { apiVersion: "v1", kind: "Namespace" };
  const mode = (value: string) => ({ "podseidon.kubewharf.io/mode": value });
  await core.create(types.namespaces, undefined, { ...namespace, metadata: { name: "lab", labels: mode("shadow") } });
  await core.create(types.namespaces, undefined, { ...namespace, metadata: { name: "own", labels: mode("enforced") } });
  const event = (name: string, reason: string) => ({
    apiVersion: "v1",
    kind: "Event",
    metadata: { name },
    involvedObject: { kind: "Deployment", name: "podseidon-webhook", namespace: systemNamespace },
    reason,
    message: "it expires",
    lastTimestamp: ago(clock, 1_000),
  });
  // Each replica says it.
  for (const name of ["a", "b"])
    await core.create(types.events, systemNamespace, event(name, "CertificateExpiresSoon"));
  await core.create(types.events, systemNamespace, event("c", "ScalingReplicaSet"));
  const facts = await readFacts(fleet);
  assert.equal(facts.name, "tokyo");
  assert.ok(facts.definition.ok && facts.definition.value !== undefined);
  assert.ok(facts.protectors.ok);
  assert.deepEqual(
    facts.protectors.value.valid.map(({ key }) => key),
    ["shop/api"],
  );
  assert.ok(facts.heartbeats.ok && facts.heartbeats.value.cells[0]?.cellID === "worker-1");
  assert.deepEqual(facts.generator, { ok: true, value: undefined });
  assert.ok(facts.generatorState.ok && facts.generatorState.value.releases.length === 0);
  assert.ok(facts.certificateEvents.ok && facts.certificateEvents.value.length === 1);
  assert.ok(facts.modes.ok);
  assert.deepEqual([...facts.modes.value], [["shadow", ["lab"]]]);
  assert.equal(clock.pendingTimers, 0);
});

test("what may not be read is said one by one, and the rest is read", async () => {
  const fleet = await createFleet();
  forbid(fleet.core, /leases|customresourcedefinitions/);
  const facts = await readFacts(fleet);
  assert.deepEqual([facts.heartbeats.ok, facts.generator.ok, facts.definition.ok], [false, false, false]);
  assert.deepEqual([facts.protectors.ok, facts.deployments.ok, facts.modes.ok], [true, true, true]);
});

test("a CRD that is gone is no failure of reading", async () => {
  const fleet = await createFleet();
  await fleet.core.engine.delete(types.customResourceDefinitions, undefined, "podprotectors.podseidon.kubewharf.io");
  const { definition, protectors } = await readFacts(fleet);
  assert.deepEqual(definition, { ok: true, value: undefined });
  assert.equal(protectors.ok, false);
});

test("each account that is there is asked about, with the aggregators of the cells that beat", async () => {
  const fleet = await createFleet();
  const { core, clock } = fleet;
  await createCellLease(core, clock, "own");
  await createCellLease(core, clock, "shared");
  const request = core.client.request.bind(core.client);
  const names = ["podseidon-webhook", "podseidon-aggregator-own", "podseidon-aggregator", "default"];
  core.client.request = async (asked) => {
    if (asked.path.endsWith("/serviceaccounts"))
      return { metadata: { resourceVersion: "1" }, items: names.map((name) => ({ metadata: { name } })) };
    return asked.path.endsWith("/subjectaccessreviews") ? { status: { allowed: true } } : request(asked);
  };
  const { rights } = await readFacts(fleet);
  assert.ok(rights.ok);
  const accounts = new Set(rights.value.map(({ account }) => account));
  assert.deepEqual([...accounts], ["podseidon-webhook", "podseidon-aggregator-own", "podseidon-aggregator"]);
});

test("what the core publishes for caBundle is read; without a ConfigMap, or in an empty one, nothing", async () => {
  const fleet = await createFleet();
  const publish = (data: Readonly<Record<string, string>>) =>
    fleet.core.engine.update(types.configMaps, systemNamespace, "podseidon-webhook-ca", {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "podseidon-webhook-ca" },
      data,
    });
  assert.deepEqual((await readFacts(fleet)).published, { ok: true, value: undefined });
  const metadata = { name: "podseidon-webhook-ca" };
  await fleet.core.create(types.configMaps, systemNamespace, { apiVersion: "v1", kind: "ConfigMap", metadata });
  assert.deepEqual((await readFacts(fleet)).published, { ok: true, value: undefined });
  await publish({ "ca.crt": "PEM" });
  assert.deepEqual((await readFacts(fleet)).published, { ok: true, value: "PEM" });
});
