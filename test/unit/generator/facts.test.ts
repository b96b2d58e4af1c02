import assert from "node:assert/strict";
import { test } from "node:test";
import { builtInResources } from "../../double/index.ts";
import { hasFinalizer, isInForce, startLeading } from "./core-cluster.ts";

const secondMs = 1_000;

async function start() {
  const { core, generator } = await startLeading();
  const about = () => generator.client.log.filter((line) => /\/(deployments\/web|podprotectors(\/\S+)?)$/.test(line));
  const asked = about().length;
  return {
    core,
    generator,
    requests: () =>
      about()
        .slice(asked)
        .filter((line) => !line.startsWith("WATCH")),
  };
}

const place = "/apis/podseidon.kubewharf.io/v1alpha1/namespaces/default/podprotectors";
const deployment = "/apis/apps/v1/namespaces/default/deployments/web";

test("a new Deployment costs one read and two writes", async () => {
  const { core, requests } = await start();
  await core.createDeployment("web");
  await core.clock.advance(5 * secondMs);
  assert.ok(isInForce(core.protector("deployment-web")));
  assert.deepEqual(requests(), [`GET ${place}/deployment-web`, `PATCH ${deployment}`, `POST ${place}`]);
});

test("where the watch lags behind a new Deployment, its present state decides, without a second try", async () => {
  const { core, generator, requests } = await start();
  generator.client.lagMs = (path) => (path.endsWith("/deployments") ? 5 * secondMs : 0);
  await core.createDeployment("web");
  await core.clock.advance(4 * secondMs);
  await core.patchDeployment("web", { spec: { replicas: 20 } });
  await core.clock.advance(2 * secondMs);
  assert.equal(core.protector("deployment-web")?.spec?.["minAvailable"], 15, "the watch has shown 10 replicas");
  const patch = `PATCH ${deployment}`;
  const first = requests().slice(0, 5);
  assert.deepEqual(first, [`GET ${place}/deployment-web`, patch, `GET ${deployment}`, patch, `POST ${place}`]);
});

test("a Deployment that was made again under its name since it was watched is protected as it is now", async () => {
  const { core, generator } = await start();
  generator.client.lagMs = (path) => (path.endsWith("/deployments") ? 5 * secondMs : 0);
  await core.createDeployment("web");
  await core.clock.advance(4 * secondMs);
  core.engine.erase(builtInResources.deployments, "default", "web");
  const { metadata } = await core.createDeployment("web");
  await core.clock.advance(2 * secondMs);
  const [owner] = core.protector("deployment-web")?.metadata.ownerReferences ?? [];
  assert.equal(owner?.["uid"], metadata.uid);
  assert.ok(hasFinalizer(core.deployment("web")));
});

test("a patch that fails otherwise is no lag, and is tried again later", async () => {
  const { core, generator, requests } = await start();
  generator.client.onWrite = (index) => (index === 1 ? "before" : undefined);
  await core.createDeployment("web");
  await core.clock.advance(50);
  assert.equal(core.protector("deployment-web"), undefined);
  assert.deepEqual(requests(), [`GET ${place}/deployment-web`, `PATCH ${deployment}`]);
  await core.clock.advance(5 * secondMs);
  assert.ok(isInForce(core.protector("deployment-web")));
});
