/** How many requests the generator makes when others, or its watches, give it no rest. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { builtInResources } from "../../double/index.ts";
import { hasFinalizer, isInForce, startLeading } from "./core-cluster.ts";

const secondMs = 1_000;

test("a client that undoes every repair at once causes no storm of requests, and is outlasted", async () => {
  const { core, generator } = await startLeading();
  await core.createDeployment("web");
  await core.createProtector("mine");
  await core.clock.advance(60 * secondMs);
  let requests = 0;
  let isUndoing = true;
  generator.client.onRequest = () => void requests++;
  core.engine.watch(
    builtInResources.deployments,
    "default",
    {},
    {
      onEvent() {
        if (isUndoing && hasFinalizer(core.deployment("web")))
          void core.patchDeployment("web", { metadata: { finalizers: null } });
      },
      onEnd() {},
    },
  );
  const wish = { metadata: { annotations: { "podseidon.kubewharf.io/remove-cell-once": "a" } } };
  core.engine.watch(
    core.protectorType,
    "default",
    {},
    {
      onEvent() {
        if (isUndoing) void core.patchProtector("mine", wish);
      },
      onEnd() {},
    },
  );
  await core.clock.advance(60 * secondMs);
  assert.ok(requests < 700, `${requests} requests in a minute`);
  assert.ok(isInForce(core.protector("deployment-web")));
  isUndoing = false;
  await core.clock.advance(5 * secondMs);
  assert.ok(hasFinalizer(core.deployment("web")));
});

test("a lagging watch causes no storm of requests", async () => {
  const { core, generator } = await startLeading();
  await core.createDeployment("old");
  await core.clock.advance(secondMs);
  generator.client.lagMs = () => 30 * secondMs;
  let requests = 0;
  generator.client.onRequest = () => void requests++;
  const status = { cells: [{ cellID: "a" }], summary: {} };
  await core.createDeployment("web");
  await core.patchDeployment("old", { spec: { replicas: 100 } });
  await core.patchProtector("deployment-old", {
    metadata: { annotations: { "podseidon.kubewharf.io/remove-cell-once": "a" } },
    status,
  });
  for (let second = 0; second < 120; second++) {
    // Others write all the time, so that what the watch tells is never the newest version.
    const annotations = { second: String(second) };
    await core.patchDeployment("web", { metadata: { annotations } });
    await core.patchProtector("deployment-old", { metadata: { annotations } });
    await core.clock.advance(secondMs);
  }
  assert.equal(core.protector("deployment-old")?.spec?.["minAvailable"], 75);
  assert.ok(isInForce(core.protector("deployment-web")));
  assert.ok(requests < 300, `${requests} requests in two minutes`);
});
