import assert from "node:assert/strict";
import { test } from "node:test";
import { finalizer, sourceLabels } from "../../../../src/api/v1alpha1/names.ts";
import { builtInResources as types } from "../../../double/index.ts";
import { createCellLease, createFleet, createProtector, type Fleet } from "../support/fleet.ts";

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
