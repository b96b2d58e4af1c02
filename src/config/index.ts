/**
 * Command line and configuration. Everything follows from one table (flag-table.ts, entries in flags/): the sources
 * (argv.ts, environment.ts, file.ts), precedence and errors (load-config.ts), combinations that cannot work
 * (combinations.ts), the typed Config (config.ts), and the texts (help.ts, effective.ts, docs.ts). No other folder
 * reads the environment or a configuration file.
 */
export { type ClusterConfig, type WatchedClusterConfig, type WorkerClientProvider } from "./clusters.ts";
export { type Config } from "./config.ts";
export { changedSettings, ignoredSettings, type Effective } from "./pages/effective.ts";
export { type Role } from "./flag.ts";
export { loadConfig, type Loaded } from "./load-config.ts";
