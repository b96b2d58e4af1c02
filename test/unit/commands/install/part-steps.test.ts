import assert from "node:assert/strict";
import { test } from "node:test";
import { coreSteps, singleSteps, workerSteps } from "../../../../src/commands/install/part-steps.ts";
import { argumentsOf, createStage } from "./empty-cluster.ts";

const settings = { image: "x", webhookAddress: "a.example.com", callers: "certificates" } as const;
const noAddress = { server: "https://x", authority: "x" };

test("a core starts its webhook with the first cell, and keeps the cells that it serves", async () => {
  const stage = createStage();
  const core = stage.siteOf("core");
  for (const step of coreSteps(core, settings, [])) assert.equal(await step.run(() => {}), undefined, step.title);
  assert.equal(stage.clusters.core.find("/deployments/podseidon-webhook"), undefined);
  assert.ok(stage.clusters.core.find("/deployments/podseidon-generator") !== undefined);
  for (const step of coreSteps(core, settings, ["a", "b"])) assert.equal(await step.run(() => {}), undefined);
  const args = argumentsOf(stage.clusters.core.find("/deployments/podseidon-webhook"));
  assert.ok(args.includes("--webhook-client-cells=a=a,b=b"), args.join(" "));
});

test("accounts come before tokens, tokens before what runs, and the webhook configuration is last", () => {
  const { siteOf } = createStage();
  const plan = {
    core: siteOf("core"),
    worker: siteOf("w1"),
    settings,
    cell: "w1",
    cells: ["a"],
    coreAddress: noAddress,
    workerAddress: noAddress,
    tokenSeconds: 3_600,
    folder: "podseidon-w1",
  };
  const titles = workerSteps(plan).map(({ title }) => title.split(" ").slice(0, 4).join(" "));
  assert.deepEqual(titles, [
    "Make the account of",
    "Make namespaces, accounts, rights",
    "Give the aggregator access",
    "Give the webhook access",
    "Make a client certificate",
    "Let the webhook of",
    "Start the aggregator",
    "Wait until the webhook",
  ]);
  const ofNetwork = workerSteps({ ...plan, settings: { ...settings, callers: "network" } });
  assert.equal(ofNetwork.length, titles.length - 1, "no certificate is made");
});

test("one cluster has its webhook configuration last, too", () => {
  const titles = singleSteps(createStage().siteOf("core"), settings).map(({ title }) => title);
  assert.equal(titles.length, 4);
  assert.match(titles.at(-1) ?? "", /^Wait until the webhook answers/);
});
