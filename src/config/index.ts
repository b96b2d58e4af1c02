/**
 * Command line and configuration. Everything follows from one table (flag-table.ts, entries in flags/): the sources (argv.ts,
 * environment.ts, file.ts), precedence and errors (load-config.ts), combinations that cannot work (combinations.ts), the typed Config
 * (config.ts), and the texts (help.ts, effective.ts, docs.ts). No other folder reads the environment or a configuration file.
 */
export {
  type AggregatorConfig,
  type ClusterConfig,
  type Config,
  type ElectorConfig,
  type GeneratorConfig,
  type ListenerConfig,
  type ServerConfig,
  type UpdateTriggerConfig,
  type WebhookConfig,
  type WorkerClientConfig,
  type WorkerConfig,
} from "./config.ts";
export { type Role } from "./flag.ts";
export { formatLabelSelector, parseLabelSelector } from "./label-selector.ts";
export { loadConfig, type Loaded, type LoadInput } from "./load-config.ts";
export { changedSettings, type Effective } from "./effective.ts";
export { ipv4Twin } from "./address.ts";
