/** A Runtime whose clients lead into engines of the API double, on a virtual clock. */
import assert from "node:assert/strict";
import { type Component } from "../../../src/lifecycle/component.ts";
import { createHealth, type HealthRegistry } from "../../../src/observability/health.ts";
import { type Runtime } from "../../../src/roles/runtime.ts";
import { silentLogger } from "../../../src/util/logger.ts";
import { type Rig } from "../aggregator/rig.ts";
import { EngineClient } from "../../support/engine-client.ts";
import { loadGood } from "../config/load.ts";
import { type CountingMetrics, createCountingMetrics } from "../kube/counting-metrics.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";

export interface EngineRuntime extends Runtime {
  readonly core: EngineClient;
  readonly coreHeartbeat: EngineClient;
  readonly worker: EngineClient;
  readonly workerElection: EngineClient;
  readonly metrics: CountingMetrics;
  readonly health: HealthRegistry;
}

/** `seed` makes processes differ. `others`: more cores than that of the rig, by name. */
export function createEngineRuntime(
  rig: Rig,
  argv: readonly string[],
  seed = 1,
  others: ReadonlyMap<string, EngineClient> = new Map(),
): EngineRuntime {
  const core = new EngineClient("core", rig.coreEngine);
  const coreHeartbeat = new EngineClient("core-heartbeat", rig.coreEngine);
  const worker = new EngineClient("worker", rig.workerEngine);
  const workerElection = new EngineClient("worker-election", rig.workerEngine);
  const metrics = createCountingMetrics();
  return {
    config: loadGood(argv),
    productVersion: "1.0.0",
    hasBeenUp: true,
    clock: rig.clock,
    rng: createSeededRng(seed),
    logger: silentLogger,
    metrics,
    health: createHealth({ logger: silentLogger, metrics }),
    core,
    coreHeartbeat,
    worker,
    workerElection,
    createServer: () => assert.fail("these roles listen nowhere"),
    clients: {
      core: async (name) => others.get(name) ?? core,
      coreHeartbeat: async (name) => others.get(name) ?? coreHeartbeat,
      coreElection: () => assert.fail("these roles elect in the worker"),
      worker: async () => worker,
      workerElection: async () => workerElection,
      connect: () => Promise.reject(new Error("no other cluster")),
    },
  };
}

export async function startAll(components: readonly Component[]): Promise<void> {
  for (const component of components) await component.start();
}

/** Stops while time goes on, as a real stop does. */
export async function stopAll(rig: Rig, components: readonly Component[]): Promise<void> {
  const stopped = Promise.all(components.map((component) => component.stop()));
  await rig.clock.advance(0);
  await stopped;
}
