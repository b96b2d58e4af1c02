import assert from "node:assert/strict";
import { test } from "node:test";
import { finalizer, labels as podseidonLabels, sourceLabels } from "../../../../../src/api/v1alpha1/names.ts";
import { latchesKey } from "../../../../../src/generator/mass-changes/latches.ts";
import { generatorStateName } from "../../../../../src/kube/generator-state.ts";
import { builtInResources, type JsonObject } from "../../../../double/index.ts";
import { createFleet, createProtector, type Fleet, forbid, systemNamespace } from "../../support/fleet.ts";

const { configMaps, deployments, namespaces } = builtInResources;

async function fleetOf(metadata: JsonObject = {}): Promise<Fleet> {
  const fleet = await createFleet();
  const { core } = fleet;
  const labels = { app: "web" };
  await core.create(deployments, "shop", {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", ...metadata },
    spec: {
      replicas: 4,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "web:1" }] } },
    },
  });
  await createProtector(core, "deployment-web", {
    minAvailable: 3,
    labels,
    cells: [
      { cellID: "a", available: 3 },
      { cellID: "b", available: 1 },
    ],
    metadata: {
      finalizers: [finalizer],
      labels: { [sourceLabels.kind]: "Deployment", [sourceLabels.group]: "apps", [sourceLabels.name]: "web" },
    },
  });
  return fleet;
}

async function latch({ core }: Fleet, cause: string): Promise<void> {
  const data = { [latchesKey]: JSON.stringify({ latched: [[cause, "2026-01-01T00:00:00.000000Z"]], approvals: [] }) };
  const metadata = { name: generatorStateName };
  await core.create(configMaps, systemNamespace, { apiVersion: "v1", kind: "ConfigMap", metadata, data });
}

const simulate = ["simulate", "delete", "deployment", "web", "-n", "shop"];

test("the steps of the deletion are told, and which of them are known", async () => {
  const fleet = await fleetOf();
  await createProtector(fleet.core, "all", { minAvailable: 1, labels: { app: "web" } });
  const { exitCode, stdout, stderr } = await fleet.run(...simulate);
  assert.deepEqual([exitCode, stderr], [0, []]);
  assert.match(stdout, /^1\. known {5}The API server accepts the deletion of Deployment shop\/web/);
  assert.match(stdout, /releases core\/shop\/deployment-web,\s+and/);
  assert.match(stdout, /the cause namespace\/shop/);
  assert.match(stdout, /all 4 available pods \(a 3,\s+b 1\)/);
  assert.match(stdout, /go on keeping them:\s+core\/shop\/all\.$/m);
  assert.deepEqual(
    stdout.split("\n").filter((line) => line.length > 80),
    [],
  );
  assert.deepEqual(fleet.core.client.writes, []);
});

test("changes that are held now keep its floor, and that is exit code 1", async () => {
  const fleet = await fleetOf();
  await latch(fleet, "namespace/shop");
  const { exitCode, stdout } = await fleet.run(...simulate, "-o", "json");
  assert.equal(exitCode, 1);
  const document = JSON.parse(stdout);
  assert.equal(document.isHeld, true);
  assert.deepEqual(document.heldCauses, ["namespace/shop"]);
});

test("of a Deployment with an owner the cause is the owner's kind", async () => {
  const owner = (apiVersion: string, controller?: true): JsonObject => {
    return { apiVersion, kind: "Shop", name: "s", uid: `u-${apiVersion}`, ...(controller && { controller }) };
  };
  const causeOf = async (...ownerReferences: readonly JsonObject[]): Promise<unknown> => {
    const fleet = await fleetOf({ ownerReferences: [...ownerReferences] });
    return JSON.parse((await fleet.run(...simulate, "-o", "json")).stdout).cause;
  };
  assert.equal(await causeOf(owner("example.com/v1")), "owner/Shop.example.com");
  assert.equal(await causeOf(owner("v1")), "owner/Shop");
  assert.equal(await causeOf(owner("v1"), owner("example.com/v1", true)), "owner/Shop.example.com");
});

test("the label of the namespace that nothing is held is looked at", async () => {
  const fleet = await fleetOf();
  await latch(fleet, "core");
  const body = { metadata: { labels: { [podseidonLabels.massChanges]: "allow" } } };
  await fleet.core.engine.patch(namespaces, undefined, "shop", { contentType: "application/merge-patch+json", body });
  assert.equal((await fleet.run(...simulate)).exitCode, 0);
});

test("what may not be read is said, and the rest is told all the same", async () => {
  const fleet = await fleetOf();
  forbid(fleet.core, /configmaps|\/namespaces\/shop$/);
  const { exitCode, stdout, stderr } = await fleet.run(...simulate);
  assert.equal(exitCode, 0);
  assert.equal(stderr.length, 2);
  assert.match(stdout, /could not be\s+read/);
});

test("a Deployment that is not there, and several cores, are refused", async () => {
  const fleet = await fleetOf();
  const absent = await fleet.run("simulate", "delete", "deployment", "db", "-n", "shop");
  assert.deepEqual([absent.exitCode, absent.problem], [1, "core has no Deployment shop/db"]);
  const several = await fleet.run(...simulate, "--core=a=core", "--core=b=core");
  assert.equal(several.exitCode, 2);
});
