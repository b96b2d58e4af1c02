/** What only custom kinds have: names that built-in kinds have too, and a status that says which pods count. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type SourceID } from "../../../src/config/generator-rules.ts";
import { type JsonObject } from "../../double/index.ts";
import { createCore, isInForce } from "./core-cluster.ts";
import { sampleBody, sampleOf } from "../../source-contract/samples.ts";

const secondMs = 1_000;

async function start(ids: readonly SourceID[]) {
  const core = await createCore();
  const samples = await Promise.all(
    ids.map(async (id) => {
      const sample = sampleOf(id);
      const { group, resource } = sample.kind.resource;
      if (sample.crd !== undefined) await core.engine.installCrd(sample.crd);
      const types = core.engine.registry.all();
      return { sample, type: types.find((one) => one.group === group && one.resource === resource)! };
    }),
  );
  const generator = core.startGenerator({}, { sources: ids });
  await generator.ready();
  return { core, samples, generator };
}

test("a StatefulSet and an Advanced StatefulSet of one name have a PodProtector each", async () => {
  const { core, samples, generator } = await start(["statefulsets.apps", "statefulsets.apps.kruise.io"]);
  for (const { sample, type } of samples) await core.engine.create(type, "default", sampleBody(sample, "db"));
  await core.clock.advance(secondMs);
  const owner = (name: string) => core.protector(name)?.metadata.ownerReferences?.[0]?.["apiVersion"];
  assert.deepEqual([owner("statefulset-db"), owner("advancedstatefulset-db")], ["apps/v1", "apps.kruise.io/v1beta1"]);
  await core.engine.delete(samples[0]!.type, "default", "db");
  await core.clock.advance(3 * secondMs);
  assert.equal(core.protector("statefulset-db"), undefined);
  assert.ok(isInForce(core.protector("advancedstatefulset-db")));
  assert.deepEqual(generator.errors(), []);
});

test("the PodProtector of a Rollout follows the ReplicaSet that serves, also when its status is lost", async () => {
  const { core, samples, generator } = await start(["rollouts.argoproj.io"]);
  const [{ sample, type }] = samples as [(typeof samples)[0]];
  const body = sampleBody(sample, "web");
  const strategy = { blueGreen: { activeService: "web" } };
  const workloadRef = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
  const { selector: _, template: __, ...spec } = body["spec"] as JsonObject;
  await core.engine.create(type, "default", { ...body, spec: { ...spec, strategy, workloadRef } });
  await core.clock.advance(secondMs);
  assert.equal(core.protector("rollout-web"), undefined, "nothing says which pods are its own");
  const publish = async (selector: string | null) => {
    const patch = { contentType: "application/merge-patch+json", body: { status: { selector } } };
    await core.engine.patch(type, "default", "web", patch, { subresource: "status" });
    await core.clock.advance(2 * secondMs);
    return core.protector("rollout-web")?.spec?.["selector"];
  };
  const app = { key: "app", operator: "In", values: ["web"] };
  const own = { key: "rollouts-pod-template-hash", operator: "Exists" };
  const serving = (hash: string) => ({
    matchExpressions: [app],
    matchLabels: { "rollouts-pod-template-hash": hash },
  });
  assert.deepEqual(await publish("app=web"), { matchExpressions: [app, own] });
  assert.deepEqual(await publish("app=web,rollouts-pod-template-hash=blue"), serving("blue"));
  assert.deepEqual(await publish("app=web,rollouts-pod-template-hash=green"), serving("green"));
  assert.deepEqual(generator.errors(), []);
  assert.deepEqual(await publish(null), serving("green"), "a status that is lost changes nothing");
  await core.clock.advance(60 * secondMs);
  assert.ok(isInForce(core.protector("rollout-web")));
  assert.equal(core.protector("rollout-web")?.spec?.["minAvailable"], 8);
  assert.deepEqual(await publish("app=web"), { matchExpressions: [app, own], matchLabels: {} });
});
