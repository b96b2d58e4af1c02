/** An aggregator of one cell with two cores: what happens to one does not reach the other (docs/aggregator.md). */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { cellLeaseName } from "../../../../src/api/cell-lease.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { createAggregator } from "../../../../src/roles/aggregator.ts";
import { EngineClient } from "../../../support/engine-client.ts";
import { builtInResources as types } from "../../../double/engine/resources.ts";
import { cellID, createRig, rigFor } from "../../aggregator/rig.ts";
import { createEngineRuntime } from "../engine-runtime.ts";

const argv = [
  "--role=aggregator",
  `--aggregator-cell-id=${cellID}`,
  "--podprotector-source-provider=map",
  "--podprotector-source-provider.map-configs=core=,east=/east",
];
const isReady = { isVerbose: false, excluded: [] } as const;

/** A rig with a second core, that of another rig on the same clock. Each has web, which has these pods. */
async function twoCores(t: TestContext, pods: readonly string[]) {
  const rig = await rigFor(t);
  const east = await createRig(undefined, rig.clock);
  for (const core of [rig, east]) await core.protect("web");
  for (const pod of pods) await rig.pod(pod);
  const client = new EngineClient("core/east", east.coreEngine);
  const runtime = createEngineRuntime(rig, argv, 1, new Map([["east", client]]));
  return { rig, east, client, runtime, start: () => rig.run(createAggregator(runtime)) };
}

test("the cell is counted into both cores, with a heartbeat in each, and touched once", async (t) => {
  const { east, rig, runtime, start } = await twoCores(t, ["a"]);
  await start();
  await rig.clock.advance(60_000);
  assert.deepEqual([rig.available("web"), east.available("web")], [1, 1]);
  for (const engine of [rig.coreEngine, east.coreEngine])
    assert.notEqual(engine.find(types.leases, "default", cellLeaseName(cellID)), undefined);
  assert.equal(runtime.health.answerAll(isReady).status, 200);
  assert.equal(runtime.health.answerOne("aggregator-worker-east/ppr-informer-synced").status, 200);
  const touches = runtime.worker.count(/^PATCH .*podseidon-update-trigger/);
  assert.ok(touches > 50 && touches <= 61, `${touches} touches in a minute`);
  assert.ok(runtime.metrics.value("aggregator_status_write_total", { core: "east", result: "written" }) > 0);
});

test("a core that is away at the start is counted into when it is there, and the other does not wait", async (t) => {
  const { client, east, rig, runtime, start } = await twoCores(t, ["a"]);
  let isUp = false;
  client.onRequest = () => (isUp ? undefined : new KubeError("network", "down"));
  await start();
  await rig.after(15_000, { available: 1 });
  assert.equal(runtime.health.answerAll(isReady).status, 500, "a new replica says that it lacks a core");
  await rig.pod("b");
  await rig.after(300_000, { available: 2 });
  isUp = true;
  await rig.clock.advance(120_000);
  assert.equal(east.available("web"), 2);
  assert.equal(runtime.health.answerAll(isReady).status, 200);
});

test("a core that is lost stops nothing in the other, and gets the counts when it is back", async (t) => {
  const { client, east, rig, runtime, start } = await twoCores(t, []);
  await start();
  await rig.clock.advance(15_000);
  client.onRequest = () => new KubeError("network", "down");
  await rig.pod("a");
  const beats = runtime.coreHeartbeat.count(/^PATCH .*leases/);
  await rig.after(600_000, { available: 1 });
  assert.ok(runtime.coreHeartbeat.count(/^PATCH .*leases/) - beats >= 55, "the other core hears each beat");
  client.onRequest = () => undefined;
  await rig.clock.advance(120_000);
  assert.equal(east.available("web"), 1);
});

test("a core that is stopped, wiped and then restored gets its counts each time; the other never waits", async (t) => {
  const { client, east, rig, runtime, start } = await twoCores(t, ["a"]);
  await start();
  await rig.clock.advance(15_000);
  const writes = runtime.core.count(/^PUT/);

  client.onRequest = () => new KubeError("network", "down");
  await rig.clock.advance(60_000);
  const backup = east.coreEngine;
  const empty = await east.newCore();
  client.engine = empty;
  client.onRequest = () => undefined;
  await rig.pod("b");
  await rig.after(120_000, { available: 2 });
  assert.notEqual(empty.find(types.leases, "default", cellLeaseName(cellID)), undefined, "the cell beats again");

  client.engine = backup;
  east.coreEngine = backup;
  await rig.clock.advance(400_000);
  assert.equal(east.available("web"), 2);
  assert.equal(rig.available("web"), 2);
  assert.equal(runtime.core.count(/^PUT/), writes + 1, "one write for the one new pod");
});

test("beats and their barriers scale with --silent-cell-after", async (t) => {
  const rig = await rigFor(t);
  const runtime = createEngineRuntime(rig, [
    "--role=aggregator",
    `--aggregator-cell-id=${cellID}`,
    "--silent-cell-after=18s",
  ]);
  await rig.run(createAggregator(runtime));
  await rig.clock.advance(60_000);
  const beats = runtime.coreHeartbeat.count(/^(POST|PATCH) .*leases/);
  assert.ok(beats >= 45 && beats <= 60, `${beats} beats in a minute`);
  const barriers = runtime.coreHeartbeat.count(/^GET .*podprotectors$/);
  assert.ok(barriers >= 25 && barriers <= 30, `${barriers} barriers in a minute`);
});

test("in a quiet core and worker the cell beats without a gap: watches that lag are listed again", async (t) => {
  const rig = await rigFor(t);
  const argv = ["--role=aggregator", `--aggregator-cell-id=${cellID}`, "--update-trigger-enable=false"];
  const runtime = createEngineRuntime(rig, argv);
  // Bookmarks come after two and a half minutes, as from a server that lags.
  runtime.core.lagMs = 90_000;
  runtime.worker.lagMs = 90_000;
  await rig.run(createAggregator(runtime));
  await rig.clock.advance(100_000);
  const before = runtime.coreHeartbeat.count(/^PATCH .*leases/);
  await rig.clock.advance(600_000);
  const beats = runtime.coreHeartbeat.count(/^PATCH .*leases/) - before;
  assert.ok(beats >= 45, `${beats} beats in ten minutes`);
});
