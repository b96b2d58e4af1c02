/**
 * The arguments of the original's chart start each role against clusters that hold what the original has written, and
 * each check of /readyz that the original has passes.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Component } from "../../src/lifecycle/component.ts";
import { runProcess, type StopSignal } from "../../src/lifecycle/process.ts";
import { createAggregator } from "../../src/roles/aggregator.ts";
import { createGenerator } from "../../src/roles/generator.ts";
import { type Runtime } from "../../src/roles/runtime.ts";
import { createWebhook } from "../../src/roles/webhook.ts";
import { silentLogger } from "../../src/util/logger.ts";
import { upstreamPodProtectorCrd } from "../double/index.ts";
import { type Rig, withRig } from "../unit/aggregator/rig.ts";
import { createEngineRuntime } from "../unit/roles/engine-runtime.ts";
import { chartArguments } from "./chart-arguments.ts";
import { upstreamNames } from "./upstream-names.ts";

const roles = { webhook: createWebhook, aggregator: createAggregator, generator: createGenerator };
/** What main.ts starts beside the role; that it has these names is a test of main.ts. */
const ofMain = /^(healthz|metrics|pprof|prometheus-http)[/]/;
const nothing = async (): Promise<void> => {};

/** A runtime of the role with the chart's arguments, whose clients all lead into the rig. */
function runtimeOf(rig: Rig, role: keyof typeof roles): Runtime & ReturnType<typeof createEngineRuntime> {
  const runtime = createEngineRuntime(rig, [`--role=${role}`, ...chartArguments[role]]);
  return {
    ...runtime,
    clients: {
      ...runtime.clients,
      coreElection: async () => runtime.coreHeartbeat,
      connect: async () => runtime.worker,
    },
    createServer: ({ name }) => ({ name, start: nothing, stop: nothing, disableKeepAlive() {} }),
  };
}

for (const role of ["webhook", "aggregator", "generator"] as const)
  test(`the chart's arguments start the ${role}, and each check of the original passes`, () =>
    withRig(async (rig) => {
      await rig.protect("web");
      await rig.pod("a");
      const runtime = runtimeOf(rig, role);
      const components: Component[] = await roles[role](runtime);
      let send: (signal: StopSignal) => void = () => assert.fail("no listener for signals");
      const { clock, health } = runtime;
      const onSignal = (listener: (signal: StopSignal) => void): void => void (send = listener);
      const end = runProcess({ components, health, logger: silentLogger, clock, onSignal, drainDelayMs: 0 });
      await rig.clock.advance(10_000);
      const expected = upstreamNames.checks[role].filter((name) => !ofMain.test(name));
      const failing = expected.filter((name) => health.answerOne(name).status !== 200);
      assert.deepEqual(failing, []);
      assert.equal(health.answerOne("nobody/phase").status, 404);
      send("SIGTERM");
      await rig.clock.advance(10_000);
      assert.deepEqual(await end, { exitCode: 0 });
      assert.equal(rig.clock.pendingTimers, 0);
    }, upstreamPodProtectorCrd()));
