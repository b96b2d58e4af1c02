import assert from "node:assert/strict";
import { test } from "node:test";
import { createAggregator } from "../../../../src/roles/aggregator.ts";
import { cellID, withRig } from "../../aggregator/rig.ts";
import { createEngineRuntime, startAll, stopAll } from "../engine-runtime.ts";

test("beats and their barriers scale with --silent-cell-after", () =>
  withRig(async (rig) => {
    const argv = ["--role=aggregator", `--aggregator-cell-id=${cellID}`, "--silent-cell-after=18s"];
    const runtime = createEngineRuntime(rig, argv);
    const components = await createAggregator(runtime);
    await startAll(components);
    await rig.clock.advance(60_000);
    const beats = runtime.coreHeartbeat.count(/^(POST|PATCH) .*leases/);
    assert.ok(beats >= 45 && beats <= 60, `${beats} beats in a minute`);
    const barriers = runtime.coreHeartbeat.count(/^GET .*podprotectors$/);
    assert.ok(barriers >= 25 && barriers <= 30, `${barriers} barriers in a minute`);
    await stopAll(rig, components);
  }));

test("in a quiet core and a quiet worker the cell beats without a gap: watches that lag are listed again", () =>
  withRig(async (rig) => {
    const argv = ["--role=aggregator", `--aggregator-cell-id=${cellID}`, "--update-trigger-enable=false"];
    const runtime = createEngineRuntime(rig, argv);
    // Bookmarks come after two and a half minutes, as from a server that lags.
    runtime.core.lagMs = 90_000;
    runtime.worker.lagMs = 90_000;
    const components = await createAggregator(runtime);
    await startAll(components);
    await rig.clock.advance(100_000);
    const before = runtime.coreHeartbeat.count(/^PATCH .*leases/);
    await rig.clock.advance(600_000);
    const beats = runtime.coreHeartbeat.count(/^PATCH .*leases/) - before;
    assert.ok(beats >= 45, `${beats} beats in ten minutes`);
    await stopAll(rig, components);
  }));
