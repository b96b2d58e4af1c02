/** An aggregator of one cell with two cores: what happens to one does not reach the other (docs/aggregator.md). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { cellLeaseName } from "../../../../src/api/cell-lease.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { createAggregator } from "../../../../src/roles/aggregator.ts";
import { EngineClient } from "../../../support/engine-client.ts";
import { builtInResources as types } from "../../../double/engine/resources.ts";
import { cellID, createRig, type Rig, withRig } from "../../aggregator/rig.ts";
import { createEngineRuntime, startAll, stopAll } from "../engine-runtime.ts";

const argv = [
  "--role=aggregator",
  `--aggregator-cell-id=${cellID}`,
  "--podprotector-source-provider=map",
  "--podprotector-source-provider.map-configs=core=,east=/east",
];
const isReady = { isVerbose: false, excluded: [] } as const;

/** The second core is that of another rig on the same clock. */
function withTwoCores(play: (rig: Rig, east: Rig) => Promise<void>): Promise<void> {
  return withRig(async (rig) => play(rig, await createRig(undefined, rig.clock)));
}

test("the cell is counted into both cores, with a heartbeat in each, and touched once", () =>
  withTwoCores(async (rig, east) => {
    await rig.protect("web");
    await east.protect("web");
    await rig.pod("a");
    const client = new EngineClient("core/east", east.coreEngine);
    const runtime = createEngineRuntime(rig, argv, 1, new Map([["east", client]]));
    const components = await createAggregator(runtime);
    await startAll(components);
    await rig.clock.advance(60_000);
    assert.deepEqual([rig.available("web"), east.available("web")], [1, 1]);
    for (const engine of [rig.coreEngine, east.coreEngine])
      assert.notEqual(engine.find(types.leases, "default", cellLeaseName(cellID)), undefined);
    assert.equal(runtime.health.answerAll(isReady).status, 200);
    assert.equal(runtime.health.answerOne("aggregator-worker-east/ppr-informer-synced").status, 200);
    const touches = runtime.worker.count(/^PATCH .*podseidon-update-trigger/);
    assert.ok(touches > 50 && touches <= 61, `${touches} touches in a minute`);
    assert.ok(runtime.metrics.value("aggregator_status_write_total", { core: "east", result: "written" }) > 0);
    await stopAll(rig, components);
    assert.equal(rig.clock.pendingTimers, 0);
  }));

test("a core that is away at the start is counted into when it is there, and the other is not kept waiting", () =>
  withTwoCores(async (rig, east) => {
    await rig.protect("web");
    await east.protect("web");
    await rig.pod("a");
    const client = new EngineClient("core/east", east.coreEngine);
    let isUp = false;
    client.onRequest = () => (isUp ? undefined : new KubeError("network", "down"));
    const runtime = createEngineRuntime(rig, argv, 1, new Map([["east", client]]));
    const components = await createAggregator(runtime);
    await startAll(components);
    await rig.clock.advance(15_000);
    assert.equal(rig.available("web"), 1);
    assert.equal(runtime.health.answerAll(isReady).status, 500, "a new replica says that it lacks a core");
    await rig.pod("b");
    await rig.clock.advance(300_000);
    assert.equal(rig.available("web"), 2);
    isUp = true;
    await rig.clock.advance(120_000);
    assert.equal(east.available("web"), 2);
    assert.equal(runtime.health.answerAll(isReady).status, 200);
    await stopAll(rig, components);
    assert.equal(rig.clock.pendingTimers, 0);
  }));

test("a core that is lost stops nothing in the other, and gets the counts when it is back", () =>
  withTwoCores(async (rig, east) => {
    await rig.protect("web");
    await east.protect("web");
    const client = new EngineClient("core/east", east.coreEngine);
    const runtime = createEngineRuntime(rig, argv, 1, new Map([["east", client]]));
    const components = await createAggregator(runtime);
    await startAll(components);
    await rig.clock.advance(15_000);
    client.onRequest = () => new KubeError("network", "down");
    await rig.pod("a");
    const beats = runtime.coreHeartbeat.count(/^PATCH .*leases/);
    await rig.clock.advance(600_000);
    assert.equal(rig.available("web"), 1);
    assert.ok(runtime.coreHeartbeat.count(/^PATCH .*leases/) - beats >= 55, "the other core hears each beat");
    client.onRequest = () => undefined;
    await rig.clock.advance(120_000);
    assert.equal(east.available("web"), 1);
    await stopAll(rig, components);
    assert.equal(rig.clock.pendingTimers, 0);
  }));

test("a core that is stopped, wiped and then restored gets its counts each time; the other never waits", () =>
  withTwoCores(async (rig, east) => {
    await rig.protect("web");
    await east.protect("web");
    await rig.pod("a");
    const client = new EngineClient("core/east", east.coreEngine);
    const runtime = createEngineRuntime(rig, argv, 1, new Map([["east", client]]));
    const components = await createAggregator(runtime);
    await startAll(components);
    await rig.clock.advance(15_000);
    const writes = runtime.core.count(/^PUT/);

    client.onRequest = () => new KubeError("network", "down");
    await rig.clock.advance(60_000);
    const backup = east.coreEngine;
    const empty = await east.newCore();
    client.engine = empty;
    client.onRequest = () => undefined;
    await rig.pod("b");
    await rig.clock.advance(120_000);
    assert.equal(rig.available("web"), 2);
    assert.notEqual(empty.find(types.leases, "default", cellLeaseName(cellID)), undefined, "the cell beats again");

    client.engine = backup;
    east.coreEngine = backup;
    await rig.clock.advance(400_000);
    assert.equal(east.available("web"), 2);
    assert.equal(rig.available("web"), 2);
    assert.equal(runtime.core.count(/^PUT/), writes + 1, "one write for the one new pod");
    await stopAll(rig, components);
    assert.equal(rig.clock.pendingTimers, 0);
  }));
