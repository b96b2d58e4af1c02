import assert from "node:assert/strict";
import { test } from "node:test";
import { finalizer, sourceLabels } from "../../../../src/api/v1alpha1/names.ts";
import { createFleet, createProtector } from "../support/fleet.ts";

test("a workload whose name is too long for a label is found by its owner reference", async () => {
  const fleet = await createFleet();
  const name = `web-${"long-".repeat(20)}name`;
  await createProtector(fleet.core, "generated", {
    cells: [{ cellID: "w1", available: 2 }],
    metadata: {
      labels: { [sourceLabels.kind]: "Deployment", [sourceLabels.name]: "web-shortened" },
      finalizers: [finalizer],
      ownerReferences: [{ apiVersion: "apps/v1", kind: "Deployment", name, uid: "1" }],
    },
  });
  await createProtector(fleet.core, "other", { cells: [{ cellID: "w1", available: 2 }] });
  const { stdout } = await fleet.run("explain", "deployment", `shop/${name}`);
  assert.match(stdout, /^PodProtector core\/shop\/generated\n/);
  assert.doesNotMatch(stdout, /other/);
});

test("an invalid PodProtector of the namespace is told, since it may be about the pod", async () => {
  const fleet = await createFleet();
  await createProtector(fleet.core, "web", { cells: [{ cellID: "w1", available: 2 }] });
  await createProtector(fleet.core, "bad", {
    cells: [
      { cellID: "w1", available: 2 },
      { cellID: "w1", available: 2 },
    ],
  });
  const { stdout } = await fleet.run("explain", "protector", "shop/web");
  assert.match(stdout, /\n {2}invalid {3}core\/bad: status: the cell "w1" is there twice; deletions of pods/);
  const { exitCode, problem } = await fleet.run("explain", "protector", "shop/bad");
  assert.equal(exitCode, 1);
  assert.match(problem ?? "", /^PodProtector shop\/bad is invalid: status: the cell "w1" is there twice$/);
});
