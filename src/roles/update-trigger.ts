/**
 * Puts the update-trigger together as a role of its own. Inside an aggregator it runs under that one's lease
 * (roles/aggregator.ts).
 */
import { type Config } from "../config/index.ts";
import { type Component } from "../lifecycle/component.ts";
import { UpdateTrigger, type UpdateTriggerConfig } from "../update-trigger/update-trigger.ts";
import { createBackground } from "./background.ts";
import { type Runtime } from "./runtime.ts";

export async function createUpdateTrigger(runtime: Runtime): Promise<Component[]> {
  const { clock, metrics } = runtime;
  const logger = runtime.logger.with({ role: "update-trigger" });
  const worker = await runtime.clients.worker();
  const trigger = new UpdateTrigger(updateTriggerConfigOf(runtime.config.updateTrigger), {
    worker,
    clock,
    logger,
    metrics,
  });
  return [createBackground("update-trigger", (signal) => trigger.run(signal))];
}

export function updateTriggerConfigOf(config: Config["updateTrigger"]): UpdateTriggerConfig {
  return {
    updateFrequencyMs: config.updateFrequencyMs,
    podName: config.dummyPod.name,
    podNamespace: config.dummyPod.namespace,
    podLabels: config.dummyPod.labels,
    podAnnotations: config.dummyPod.annotations,
    podImage: config.dummyPod.image,
    podScheduler: config.dummyPod.schedulerName,
  };
}
