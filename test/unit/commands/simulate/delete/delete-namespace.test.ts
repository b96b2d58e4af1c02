import assert from "node:assert/strict";
import { test } from "node:test";
import { finalizer, sourceLabels } from "../../../../../src/api/v1alpha1/names.ts";
import { createFleet, createProtector, type Fleet } from "../../support/fleet.ts";
import { createPod } from "../pods-on-double.ts";

async function fleetOf(): Promise<Fleet> {
  const fleet = await createFleet("worker");
  await createProtector(fleet.core, "web", {
    minAvailable: 2,
    cells: [{ cellID: "w1", available: 3 }],
    metadata: {
      finalizers: [finalizer],
      labels: { [sourceLabels.kind]: "Deployment", [sourceLabels.group]: "apps", [sourceLabels.name]: "web" },
    },
  });
  await createProtector(fleet.core, "by-hand", { minAvailable: 1, labels: { app: "none" } });
  await createProtector(fleet.core, "without-floor", { minAvailable: 0, labels: { app: "none" } });
  for (const cluster of fleet.clusters.values())
    for (const name of ["web-1", "web-2", "web-3"]) await createPod(cluster, name, "web");
  return fleet;
}

const simulate = ["simulate", "delete", "namespace", "shop"];

test("in one cell alone, the pods that must stay keep the namespace", async () => {
  const fleet = await fleetOf();
  const { exitCode, stdout } = await fleet.run(...simulate, "--worker=w1=worker");
  assert.equal(exitCode, 1);
  assert.match(stdout, /^1\. known {5}Pods of cell w1 in namespace shop: 3\. If their deletions were all/);
  assert.match(stdout, /1 would be admitted and 2 refused\./);
  assert.match(stdout, /^3\. expected {2}PodProtectors with a floor here: 1 of workloads, 1 made by hand\./m);
  assert.match(stdout, /^4\. expected {2}If the namespace is deleted in this cell only, they stay in force/m);
  assert.match(stdout, /^ {2}keeps shop\/web-2, shop\/web-3$/m);
  assert.deepEqual(
    stdout.split("\n").filter((line) => line.length > 80),
    [],
  );
});

test("where the core has the pods, the release of the workloads lets all go", async () => {
  const fleet = await fleetOf();
  const { exitCode, stdout } = await fleet.run(...simulate, "--cell=w1", "-o", "json");
  assert.equal(exitCode, 0);
  const { steps, obstacles, ...end } = JSON.parse(stdout);
  assert.deepEqual(end, {
    namespace: "shop",
    cell: "w1",
    pods: 3,
    admitted: 1,
    refused: 2,
    generated: 1,
    handMade: 1,
    isOneCluster: true,
  });
  assert.match(steps.at(-1).text, /^The core has the pods itself/);
  assert.equal(obstacles.length, 1);
});

test("a namespace without PodProtectors keeps nobody", async () => {
  const fleet = await fleetOf();
  const { exitCode, stdout } = await fleet.run("simulate", "delete", "namespace", "empty", "--worker=w1=worker");
  assert.equal(exitCode, 0);
  assert.match(stdout, /^2\. known {5}The cores have no PodProtectors with a floor in this namespace\.$/m);
});
