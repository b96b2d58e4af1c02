import assert from "node:assert/strict";
import { test } from "node:test";
import { asList, fieldsOf, type Json } from "../../../../src/api/json.ts";
import { apply } from "../../../../src/commands/install/apply.ts";
import { gateStep, trialOf } from "../../../../src/commands/install/gate.ts";
import { workerObjects } from "../../../../src/commands/install/objects.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { createStage, type Stage } from "./empty-cluster.ts";

const values = { image: "x", cell: "w1", webhookAddress: "a.example.com", caBundle: "QQ==" };
const configuration = fieldsOf(workerObjects(values).find(({ kind }) => kind === "ValidatingWebhookConfiguration"));
const path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/** Resolves to why it is not done, however long that takes. */
async function run({ clock, siteOf }: Stage, untilThen?: string): Promise<string | undefined> {
  const step = gateStep({
    site: siteOf("w1"),
    cell: "w1",
    configuration: () => Promise.resolve(configuration),
    outline: configuration,
    untilThen: () => untilThen,
  });
  const ended: { with?: { readonly problem: string | undefined } } = {};
  void step.run(() => {}).then((problem) => (ended.with = { problem }));
  for (let second = 0; ended.with === undefined && second < 1_000; second += 1) await clock.advance(1_000);
  assert.ok(ended.with !== undefined);
  return ended.with.problem;
}

async function withAggregator(): Promise<Stage> {
  const stage = createStage();
  for (const object of workerObjects(values).filter(({ kind }) => kind === "Deployment"))
    await apply(stage.siteOf("w1"), object);
  stage.clusters.w1.writes.length = 0;
  return stage;
}

test("the trial asks about the dummy pod's namespace alone, as the first entry does", () => {
  const { metadata, webhooks } = trialOf(configuration);
  assert.equal(fieldsOf(metadata)["name"], "podseidon-trial");
  const entries = asList(webhooks).map(fieldsOf);
  assert.equal(entries.length, 1);
  assert.deepEqual(entries[0]?.["namespaceSelector"], {
    matchLabels: { "kubernetes.io/metadata.name": "podseidon-update-trigger" },
  });
  const { clientConfig } = asList(configuration["webhooks"]).map(fieldsOf)[0] as Json;
  assert.deepEqual(entries[0]?.["clientConfig"], clientConfig);
});

test("the configuration is made after the trial was answered and taken back", async () => {
  const stage = await withAggregator();
  stage.clusters.w1.answersAs = "w1";
  assert.equal(await run(stage), undefined);
  assert.deepEqual(stage.clusters.w1.writes, [`POST ${path}`, `DELETE ${path}/podseidon-trial`, `POST ${path}`]);
});

test("a trial that was made while the command was stopped is taken back, though nobody heard of it", async () => {
  const stage = await withAggregator();
  const { w1 } = stage.clusters;
  const request = w1.request.bind(w1);
  w1.request = async (asked) => {
    const answer = await request(asked);
    if (asked.method === "POST" && asked.path === path) throw new KubeError("aborted", "stopped");
    return answer;
  };
  assert.match((await run(stage)) ?? "", /stopped/);
  assert.deepEqual(w1.writes, [`POST ${path}`, `DELETE ${path}/podseidon-trial`]);
});

test("a webhook of another cell, an aggregator that has not started and a missing right are reasons", async () => {
  const other = await withAggregator();
  other.clusters.w1.answersAs = "w2";
  assert.match((await run(other)) ?? "", /the webhook was asked for the cell w2/);
  assert.match((await run(createStage())) ?? "", /there is no pod .*, which the aggregator makes when it has started/);
  const forbidden = await withAggregator();
  forbidden.clusters.w1.forbidden = /^DELETE .*pods/;
  assert.match((await run(forbidden)) ?? "", /you may not delete pods in namespace podseidon-update-trigger/);
  for (const { clusters } of [other, forbidden]) assert.equal(clusters.w1.find("/podseidon"), undefined);
});

test("while nobody can answer yet it asks once, and gives that reason", async () => {
  const stage = await withAggregator();
  assert.equal(await run(stage, "the files are not in place"), "the files are not in place");
  assert.ok(stage.clock.monotonicMs() < 5_000);
  stage.clusters.w1.answersAs = "w1";
  assert.equal(await run(stage, "the files are not in place"), undefined, "somebody had put them there");
});

test("a configuration that is in force already is mended at once, and then asked", async () => {
  const stage = await withAggregator();
  await apply(stage.siteOf("w1"), { ...configuration, webhooks: [] });
  assert.match((await run(stage)) ?? "", /gets no answer/);
  const stored = stage.clusters.w1.find("validatingwebhookconfigurations/podseidon");
  assert.equal(asList(stored?.["webhooks"]).length, 3);
});
