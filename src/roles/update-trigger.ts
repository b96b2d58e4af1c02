/**
 * Puts the update-trigger together as a role of its own. Inside an aggregator it runs under the aggregator's Lease
 * (roles/aggregator.ts).
 */
import { type Component, createBackground } from "../lifecycle/component.ts";
import { UpdateTrigger } from "../update-trigger/update-trigger.ts";
import { type Runtime } from "./runtime.ts";

export async function createUpdateTrigger(runtime: Runtime): Promise<Component[]> {
  const { clock, metrics } = runtime;
  const logger = runtime.logger.with({ role: "update-trigger" });
  const worker = await runtime.clients.worker();
  const trigger = new UpdateTrigger(runtime.config.updateTrigger, { worker, clock, logger, metrics });
  return [createBackground("update-trigger", (signal) => trigger.run(signal))];
}
