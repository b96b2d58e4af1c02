import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Federation, shareOf } from "../../scripts/playground/federation.ts";
import { createSeededRng } from "../support/seeded-rng.ts";
import { type VirtualClock, createVirtualClock } from "../support/virtual-clock.ts";
import { startControllers } from "../double/controllers/index.ts";
import { Engine } from "../double/engine/engine.ts";
import { type JsonObject, asObject } from "../double/engine/object.ts";
import { builtInResources as types } from "../double/engine/resources.ts";

interface World {
  readonly clock: VirtualClock;
  readonly core: Engine;
  readonly cells: readonly Engine[];
}

/** A core with the Deployment shop/web, and two cells with controllers, on one clock. */
async function startWorld(t: TestContext, replicas: number): Promise<World> {
  const clock = createVirtualClock();
  const [core, ...cells] = [1, 2, 3].map(
    (seed) => new Engine({ clock, rng: createSeededRng(seed), callWebhook: () => Promise.reject(new Error("none")) }),
  );
  assert.ok(core !== undefined);
  for (const engine of [core, ...cells]) await engine.bootstrap();
  for (const engine of cells) {
    const controllers = await startControllers(engine);
    t.after(() => controllers.stop());
  }
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } };
  await core.create(types.namespaces, undefined, namespace);
  const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "main", image: "web:1" }] } };
  await core.create(types.deployments, "shop", {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "shop", labels: { app: "web" } },
    spec: { replicas, selector: { matchLabels: { app: "web" } }, template },
  });
  const federation = new Federation(core, cells);
  t.after(() => federation.stop());
  await clock.advance(5000);
  return { clock, core, cells };
}

function replicasIn(engine: Engine): unknown {
  return engine.find(types.deployments, "shop", "web")?.spec?.["replicas"];
}

async function change(engine: Engine, spec: JsonObject): Promise<void> {
  const patch = { contentType: "application/merge-patch+json", body: { spec } };
  await engine.patch(types.deployments, "shop", "web", patch);
}

test("the shares of a number add up to it, and the first cells get what does not divide", () => {
  assert.deepEqual(
    [0, 1, 2].map((index) => shareOf(8, index, 3)),
    [3, 3, 2],
  );
});

test("a Deployment of the core is spread over the cells, and its status is the sum of theirs", async (t) => {
  const { core, cells } = await startWorld(t, 5);
  assert.deepEqual(cells.map(replicasIn), [3, 2]);
  assert.deepEqual(
    cells.map((engine) => engine.list(types.pods, "shop").items.length),
    [3, 2],
  );
  const { status, metadata } = core.get(types.deployments, "shop", "web");
  assert.deepEqual(asObject(status), {
    observedGeneration: metadata.generation,
    replicas: 5,
    updatedReplicas: 5,
    readyReplicas: 5,
    availableReplicas: 5,
    unavailableReplicas: 0,
  });
});

test("a Deployment that is scaled in the core is scaled in the cells", async (t) => {
  const { clock, core, cells } = await startWorld(t, 5);
  await change(core, { replicas: 8 });
  await clock.advance(5000);
  assert.deepEqual(cells.map(replicasIn), [4, 4]);
  assert.equal(core.get(types.deployments, "shop", "web").status?.["availableReplicas"], 8);
});

test("what is changed in a cell lasts until the Deployment of the core changes", async (t) => {
  const { clock, core, cells } = await startWorld(t, 4);
  await change(cells[0]!, { replicas: 7 });
  await clock.advance(5000);
  assert.deepEqual(cells.map(replicasIn), [7, 2]);
  await change(core, { paused: true });
  await clock.advance(5000);
  assert.deepEqual(cells.map(replicasIn), [2, 2]);
});

test("a Deployment that is deleted in the core is deleted in the cells", async (t) => {
  const { clock, core, cells } = await startWorld(t, 4);
  await core.delete(types.deployments, "shop", "web");
  await clock.advance(5000);
  assert.deepEqual(cells.map(replicasIn), [undefined, undefined]);
});
