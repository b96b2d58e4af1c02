import assert from "node:assert/strict";
import { test } from "node:test";
import { createLivePod, createTestCluster, installWebhook, mergePatch, refusal } from "./cluster.ts";
import { asArray, asObject, type KubeObject } from "./engine/object.ts";
import { builtInResources as types } from "./engine/resources.ts";

test("an eviction is reviewed once, as CREATE of pods/eviction, and deletes without DELETE admission", async () => {
  const { engine, reviews } = await createTestCluster();
  await installWebhook(engine);
  const pod = await createLivePod(engine, "a");
  const answer = await engine.evict("default", "a");
  assert.equal(answer.code, 201);
  assert.equal(reviews.length, 1);
  const [request] = reviews;
  assert.equal(request!["operation"], "CREATE");
  assert.equal(request!["subResource"], "eviction");
  assert.deepEqual(request!["kind"], { group: "policy", version: "v1", kind: "Eviction" });
  assert.equal(request!["oldObject"], null);
  const evicted = engine.get(types.pods, "default", "a");
  assert.notEqual(evicted.metadata.deletionTimestamp, undefined);
  assert.ok(
    Number(evicted.metadata.resourceVersion) > Number(pod.metadata.resourceVersion) + 1,
    "condition and mark are two versions",
  );
  const [condition] = asArray(evicted.status?.["conditions"]).map(asObject);
  assert.equal(condition?.["type"], "DisruptionTarget");
});

test("no fence stops an eviction that was admitted", async () => {
  const { engine, reviews, decide } = await createTestCluster();
  await installWebhook(engine);
  await createLivePod(engine, "a");
  decide(async () => {
    await engine.patch(types.pods, "default", "a", mergePatch({ metadata: { annotations: { fence: "1" } } }), {
      subresource: "status",
    });
    return { allowed: true };
  });
  await engine.evict("default", "a");
  assert.equal(reviews.length, 1);
  assert.notEqual(engine.get(types.pods, "default", "a").metadata.deletionTimestamp, undefined);
});

for (const isNamed of [true, false]) {
  const what = isNamed ? "stops an eviction that names the version" : "does not stop one that names none";
  test(`a fence between the two writes of an eviction ${what}`, async () => {
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<(goesOn: boolean) => void>();
    let isHolding = false;
    const { engine } = await createTestCluster({
      beforeCommit: async () => !isHolding || (await new Promise<boolean>(arrive)),
    });
    const { resourceVersion } = (await createLivePod(engine, "a")).metadata;
    const present = (): KubeObject => engine.get(types.pods, "default", "a");
    const preconditions = isNamed ? { resourceVersion } : {};
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "a" } };
    isHolding = true;
    const evicting = engine.evict("default", "a", { ...eviction, deleteOptions: { preconditions } });
    const goOn = await arrived;
    isHolding = false;
    assert.notEqual(present().metadata.resourceVersion, resourceVersion);
    const fence = mergePatch({ metadata: { annotations: { fence: "1" } } });
    await engine.patch(types.pods, "default", "a", fence, { subresource: "status" });
    goOn(true);
    if (isNamed) await assert.rejects(evicting, refusal(409, "the ResourceVersion in the precondition"));
    else await evicting;
    assert.equal(present().metadata.deletionTimestamp === undefined, isNamed);
  });
}

test("a refused eviction leaves the pod untouched", async () => {
  const { engine, decide } = await createTestCluster();
  await installWebhook(engine);
  const pod = await createLivePod(engine, "a");
  decide(() => ({ allowed: false, status: { code: 429, reason: "TooManyRequests", message: "floor" } }));
  await assert.rejects(
    engine.evict("default", "a"),
    refusal(429, 'admission webhook "pods.podseidon.test" denied the request: floor'),
  );
  assert.equal(engine.get(types.pods, "default", "a"), pod);
});

test("an eviction that asks for a dry run in its deleteOptions is reviewed and changes nothing", async () => {
  const { engine, reviews } = await createTestCluster();
  await installWebhook(engine);
  const pod = await createLivePod(engine, "a");
  const body = {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { name: "a" },
    deleteOptions: { dryRun: ["All"] },
  };
  await engine.evict("default", "a", body);
  assert.equal(reviews.length, 1);
  assert.equal(engine.get(types.pods, "default", "a"), pod);
});

test("a disruption budget refuses with 429 until its status allows a disruption, which an eviction uses", async () => {
  const { engine } = await createTestCluster();
  await createLivePod(engine, "a");
  await engine.patch(types.pods, "default", "a", mergePatch({ status: { phase: "Running" } }), {
    subresource: "status",
  });
  const spec = { minAvailable: 1, selector: { matchLabels: { app: "web" } } };
  const budget = { apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata: { name: "web" }, spec };
  await engine.create(types.podDisruptionBudgets, "default", budget);
  await assert.rejects(engine.evict("default", "a"), refusal(429, "violate the pod's disruption budget"));
  const allow = mergePatch({ status: { observedGeneration: 1, disruptionsAllowed: 1 } });
  await engine.patch(types.podDisruptionBudgets, "default", "web", allow, { subresource: "status" });
  await engine.evict("default", "a");
  assert.equal(engine.get(types.podDisruptionBudgets, "default", "web").status?.["disruptionsAllowed"], 0);
});
