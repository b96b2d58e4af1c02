/** The core clusters of a role, connected. */
import { type Config } from "../config/index.ts";
import { type KubeClient } from "../kube/kube-client.ts";
import { assert } from "../util/assert.ts";
import { withLabels, type Metrics } from "../util/metrics.ts";
import { type Runtime } from "./runtime.ts";

export interface ConnectedCore {
  /** As in messages: `name/namespace/podprotector`. */
  readonly name: string;
  readonly client: KubeClient;
  /** Namespace that watches are restricted to; undefined = all namespaces. */
  readonly namespace: string | undefined;
}

/** Opens no connection. Rejects with a StartError where there is no usable configuration. */
export async function connectCore({ clients, config }: Runtime, name: string): Promise<ConnectedCore> {
  const core = config.cores.get(name);
  assert(core !== undefined, `the configuration has the core ${name}`);
  return { name, client: await clients.core(name), namespace: core.namespace };
}

export function connectCores(runtime: Runtime): Promise<readonly ConnectedCore[]> {
  return Promise.all(Array.from(runtime.config.cores.keys(), (name) => connectCore(runtime, name)));
}

/**
 * What the name of a component of one core ends with: nothing where there is only one core, so that health checks have
 * upstream's names.
 */
export function coreSuffix({ cores }: Pick<Config, "cores">, name: string): string {
  return cores.size === 1 ? "" : `-${name}`;
}

/**
 * Metrics of what a role does for one core, or with "" for all. They have the label `core` where there are several;
 * else they have upstream's labels.
 */
export function coreMetrics({ config, metrics }: Pick<Runtime, "config" | "metrics">, name: string): Metrics {
  return config.cores.size === 1 ? metrics : withLabels(metrics, { core: name });
}
