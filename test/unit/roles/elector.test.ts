import assert from "node:assert/strict";
import { test } from "node:test";
import { createElector } from "../../../src/roles/elector.ts";
import { withRig } from "../aggregator/rig.ts";
import { createEngineRuntime } from "./engine-runtime.ts";

function electorOf(rig: Parameters<typeof createEngineRuntime>[0], ...flags: readonly string[]) {
  const runtime = createEngineRuntime(rig, ["--role=aggregator", ...flags]);
  const elector = createElector(runtime, {
    role: "aggregator",
    config: runtime.config.aggregator.elector,
    clusterClass: "worker",
    client: runtime.workerElection,
    logger: runtime.logger,
  });
  return { elector, status: () => runtime.health.answerOne("aggregator-leader-elector/elector") };
}

test("a leader that has not renewed for a whole lease duration is not ready", () =>
  withRig(async (rig) => {
    const { elector, status } = electorOf(rig);
    assert.deepEqual(status(), { status: 200, text: "ok" });
    assert.deepEqual(await elector.tryAcquireOrRenew(1_000), { type: "held" });
    await rig.clock.advance(15_000);
    assert.deepEqual(status(), { status: 200, text: "ok" });
    await rig.clock.advance(1);
    const late = status();
    assert.equal(late.status, 500);
    assert.match(late.text, /default\/podseidon-aggregator has not been renewed/);
  }));

test("a disabled election has no check", () =>
  withRig(async (rig) => {
    assert.equal(electorOf(rig, "--aggregator-leader-elector-enable=false").status().status, 404);
  }));
