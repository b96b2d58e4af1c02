import assert from "node:assert/strict";
import { test } from "node:test";
import { asList, fieldsOf, type Json } from "../../../../src/api/json.ts";
import { ownDefinition } from "../../../../src/carried/definition.ts";
import {
  apply,
  isIncluded,
  objectsStep,
  readObject,
  removeObject,
  stateOf,
  titleOf,
} from "../../../../src/commands/install/apply.ts";
import { gateStep, trialOf } from "../../../../src/commands/install/gate.ts";
import { workerObjects } from "../../../../src/commands/install/objects.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { createStage, type Stage } from "./empty-cluster.ts";

const role = (rules: readonly unknown[]) => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "Role",
  metadata: { name: "podseidon-x", namespace: "podseidon-system" },
  rules,
});

test("an object is created, then in place, and changed when something else is wanted", async () => {
  const { clusters, siteOf } = createStage();
  const site = siteOf("core");
  assert.deepEqual(await apply(site, role([1])), { ok: true, value: "create" });
  assert.deepEqual(await apply(site, role([1])), { ok: true, value: "in place" });
  assert.deepEqual(await stateOf(site, role([1, 2])), { ok: true, value: "change" });
  assert.deepEqual(await apply(site, role([1, 2])), { ok: true, value: "change" });
  const path = "/apis/rbac.authorization.k8s.io/v1/namespaces/podseidon-system/roles";
  assert.deepEqual(clusters.core.writes, [`POST ${path}`, `PATCH ${path}/podseidon-x`]);
});

test("what an API server or others have added is no change, and a list that is longer is one", () => {
  assert.ok(isIncluded({ a: { b: [{ c: 1 }] } }, { a: { b: [{ c: 1, d: 2 }], e: 3 }, f: 4 }));
  assert.ok(!isIncluded([1], [1, 2]));
  assert.ok(!isIncluded({ a: 1 }, { a: 2 }));
  assert.ok(!isIncluded({ a: {} }, {}));
});

test("an API server that has left out a list because it is empty has what is wanted", () => {
  assert.ok(isIncluded({ volumes: [] }, { containers: [] }));
  assert.ok(!isIncluded({ volumes: [] }, { volumes: [1] }));
  assert.ok(!isIncluded({ volumes: [1] }, {}));
});

test("an object that another run has made in between is no failure, and gets what is wanted", async () => {
  const { clusters, siteOf } = createStage();
  const site = siteOf("core");
  const request = clusters.core.request.bind(clusters.core);
  clusters.core.request = async (asked) => {
    if (asked.method !== "POST") return request(asked);
    clusters.core.request = request;
    await apply(site, role([2]));
    throw new KubeError("alreadyExists", "409");
  };
  assert.deepEqual(await apply(site, role([1])), { ok: true, value: "change" });
  assert.deepEqual(await stateOf(site, role([1])), { ok: true, value: "in place" });
});

test("what is gone is removed", async () => {
  const site = createStage().siteOf("core");
  assert.equal(await removeObject(site, role([])), undefined);
  await apply(site, role([]));
  assert.equal(await removeObject(site, role([])), undefined);
  assert.deepEqual(await readObject(site, role([])), { ok: true, value: undefined });
});

test("a plural that ends in y, and one of the core group, are as the API has them", async () => {
  const { clusters, siteOf } = createStage();
  const policy = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { name: "p" },
  };
  await apply(siteOf("core"), policy);
  await apply(siteOf("core"), { apiVersion: "v1", kind: "Namespace", metadata: { name: "n" } });
  assert.deepEqual(clusters.core.writes, [
    "POST /apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "POST /api/v1/namespaces",
  ]);
  assert.equal(titleOf(policy), "ValidatingAdmissionPolicy p");
  assert.equal(titleOf(role([])), "Role podseidon-system/podseidon-x");
});

test("a right that is missing is named with the verb", async () => {
  const { clusters, siteOf } = createStage();
  clusters.core.forbidden = /^POST/;
  const done = await apply(siteOf("core"), role([]));
  assert.match(done.ok ? "" : done.problem, /you may not create roles\.rbac\.authorization\.k8s\.io podseidon-x/);
});

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
