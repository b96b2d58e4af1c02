/** What a process of the simulation is made of: one release of the product. */
import { loadConfig } from "../../../src/config/index.ts";
import { type Component } from "../../../src/lifecycle/component.ts";
import { createAggregator } from "../../../src/roles/aggregator.ts";
import { createGenerator } from "../../../src/roles/generator.ts";
import { createClients, type Runtime } from "../../../src/roles/runtime.ts";
import { createWebhook } from "../../../src/roles/webhook.ts";

export type RoleName = "generator" | "aggregator" | "webhook";

/** What main.ts uses of a release, with its own configuration and clients. */
export interface Release {
  /** Flags that the processes of a world are told and that it does not have: whoever starts it leaves them out. */
  readonly unknownFlags: readonly string[];
  readonly loadConfig: typeof loadConfig;
  readonly createClients: typeof createClients;
  readonly roles: Readonly<Record<RoleName, (runtime: Runtime) => Promise<Component[]>>>;
}

/** The code of this commit. */
export const presentRelease: Release = {
  unknownFlags: [],
  loadConfig,
  createClients,
  roles: { generator: createGenerator, aggregator: createAggregator, webhook: createWebhook },
};
