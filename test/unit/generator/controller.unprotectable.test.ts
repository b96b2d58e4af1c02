/** Deployments that want a PodProtector and cannot get it: nothing is overwritten, and their owner is told. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { createCore, hasFinalizer, isInForce, labelsFor, startLeading } from "./core-cluster.ts";

const secondMs = 1_000;
const protectorPath = /\/podprotectors(\/|$)/;

function unprotectable(core: Awaited<ReturnType<typeof createCore>>) {
  return core.events().filter((event) => event["reason"] === "Unprotectable");
}

test("somebody's PodProtector under the derived name: the Deployment gets an Event and not our finalizer", async () => {
  const core = await createCore();
  const theirs = await core.createProtector("deployment-web");
  const generator = core.startGenerator();
  await generator.ready();
  const made = await core.createDeployment("web");
  await core.clock.advance(120 * secondMs);
  assert.deepEqual(core.protector("deployment-web"), theirs);
  assert.ok(!hasFinalizer(core.deployment("web")));
  assert.deepEqual(generator.client.writes, []);
  const [event] = unprotectable(core);
  assert.partialDeepStrictEqual(event, {
    type: "Warning",
    involvedObject: { apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: made.metadata.uid },
  });
  assert.match(String(event?.["message"]), /not protected: .*default\/deployment-web exists, .*rename or delete it/);
  assert.deepEqual(generator.sources().unprotectable, new Map([["ForeignPodProtector", 1]]));
});

test("when somebody's PodProtector goes, or gets our labels, the Deployment is protected at once", async () => {
  for (const isAdopted of [false, true]) {
    const core = await createCore();
    await core.createProtector("deployment-web");
    const generator = core.startGenerator();
    await generator.ready();
    await core.createDeployment("web");
    // The backoff has grown to its maximum.
    await core.clock.advance(600 * secondMs);
    if (isAdopted) await core.patchProtector("deployment-web", { metadata: { labels: labelsFor("web") } });
    else await core.deleteProtector("deployment-web");
    await core.clock.advance(secondMs);
    assert.ok(isInForce(core.protector("deployment-web")) && hasFinalizer(core.protector("deployment-web")));
    assert.equal(core.protector("deployment-web")?.spec?.["minAvailable"], 8);
    assert.ok(hasFinalizer(core.deployment("web")));
    assert.deepEqual(generator.sources().unprotectable, new Map([["ForeignPodProtector", 0]]));
    await generator.stop();
  }
});

test("when somebody takes the name between the look and the creation, our finalizer is taken off again", async () => {
  const { core, generator } = await startLeading();
  generator.client.onWrite = async (_, { method }) => {
    if (method === "POST" && core.protector("deployment-web") === undefined)
      await core.createProtector("deployment-web");
    return undefined;
  };
  await core.createDeployment("web", { metadata: { finalizers: ["other.example/x"] } });
  await core.clock.advance(10 * secondMs);
  assert.deepEqual(core.deployment("web")?.metadata.finalizers, ["other.example/x"]);
  assert.equal(unprotectable(core).length, 1);
});

test("a Deployment whose own PodProtector was replaced by somebody's is let go", async () => {
  const { core } = await startLeading();
  await core.createDeployment("web");
  await core.clock.advance(secondMs);
  assert.ok(hasFinalizer(core.deployment("web")));
  core.engine.wipe(core.protectorType);
  await core.createProtector("deployment-web");
  await core.clock.advance(secondMs);
  assert.ok(!hasFinalizer(core.deployment("web")));
  assert.equal(unprotectable(core).length, 1);
});

test("a creation that is refused counts by its kind and is told; it ends when it succeeds", async () => {
  const { core, generator } = await startLeading();
  generator.client.onWrite = (_, { method, path }) =>
    method === "POST" && protectorPath.test(path) ? new KubeError("forbidden", "exceeded quota: objects") : undefined;
  await core.createDeployment("web");
  await core.clock.advance(secondMs);
  assert.deepEqual(generator.sources().unprotectable.get("forbidden"), 1);
  assert.match(String(unprotectable(core)[0]?.["message"]), /cannot be created\. exceeded quota: objects/);
  generator.client.onWrite = () => undefined;
  await core.clock.advance(60 * secondMs);
  assert.deepEqual(generator.sources().unprotectable.get("forbidden"), 0);
});

test("a creation that fails by itself counts, but is no Event: it will be repeated", async () => {
  const { core, generator } = await startLeading();
  generator.client.onWrite = (_, { method }) => (method === "POST" ? "before" : undefined);
  await core.createDeployment("web");
  await core.clock.advance(secondMs);
  assert.equal(generator.sources().unprotectable.get("network"), 1);
  assert.deepEqual(unprotectable(core), []);
});

test("floors that cannot be drained, or protect nothing, are counted, by the leader alone", async () => {
  const core = await createCore();
  const standby = core.startGenerator({}, { standby: true });
  await standby.ready();
  const generator = core.startGenerator();
  await generator.ready();
  const rollingUpdate = { maxUnavailable: 0, maxSurge: 1 };
  await core.createDeployment("stuck", { spec: { strategy: { type: "RollingUpdate", rollingUpdate } } });
  await core.createDeployment("single", { replicas: 1 });
  await core.createDeployment("web");
  await core.clock.advance(secondMs);
  assert.partialDeepStrictEqual(generator.sources(), { undrainable: 1, unprotected: 1 });
  assert.partialDeepStrictEqual(standby.sources(), { undrainable: 0, unprotected: 0 });
  await core.patchDeployment("stuck", { spec: { strategy: { rollingUpdate: { maxUnavailable: 1 } } } });
  await core.deleteDeployment("single");
  await core.clock.advance(secondMs);
  assert.partialDeepStrictEqual(generator.sources(), { undrainable: 0, unprotected: 0 });
  generator.loseLeadership();
  await core.clock.advance(secondMs);
  assert.equal(generator.sources().undrainable, 0);
});
