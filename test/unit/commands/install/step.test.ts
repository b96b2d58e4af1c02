import assert from "node:assert/strict";
import { test } from "node:test";
import { type Json } from "../../../../src/api/json.ts";
import { ownDefinition } from "../../../../src/commands/carried/definition.ts";
import { objectsStep } from "../../../../src/commands/install/step.ts";
import { createStage } from "./empty-cluster.ts";

const account = (name: string): Json => ({
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { name, namespace: "x" },
});

test("a plan names the objects by what is done to them, of many the first ones", async () => {
  const { siteOf } = createStage();
  const names = ["a", "b", "c", "d", "e", "f", "g"].map(account);
  const step = objectsStep("Make accounts", siteOf("core"), names);
  assert.deepEqual(await step.plan(), {
    changes: ["create ServiceAccount x/a, x/b, x/c, x/d, x/e and 2 more"],
    unseen: [],
  });
  assert.equal(await step.run(() => {}), undefined);
  assert.deepEqual(await step.plan(), { changes: [], unseen: [] });
});

test("what cannot be seen is told, and ends the step when it is carried out", async () => {
  const { clusters, siteOf } = createStage();
  clusters.core.forbidden = /accounts\/b$/;
  const step = objectsStep("Make accounts", siteOf("core"), ["a", "b", "c"].map(account));
  assert.equal((await step.plan()).unseen.length, 1);
  assert.match((await step.run(() => {})) ?? "", /you may not get serviceaccounts b/);
  assert.equal(clusters.core.objects.size, 1);
});

test("a CRD is waited for before anything uses it", async () => {
  const { clusters, siteOf } = createStage();
  const step = objectsStep("Make the CRD", siteOf("core"), [ownDefinition()]);
  assert.equal(await step.run(() => {}), undefined);
  clusters.core.objects.clear();
  clusters.core.forbidden = /^GET .*podprotectors$/;
  assert.match((await step.run(() => {})) ?? "", /whether the CRD is served is not known/);
});
