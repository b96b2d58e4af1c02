/**
 * Leader election on a Lease, side by side with client-go's: settings (config.ts), the protocol (elector.ts, lease.ts),
 * its loop (run-elected.ts).
 */
export { createIdentity, validateElectorConfig, type ElectorConfig } from "./config.ts";
export { Elector } from "./elector.ts";
export { runElected } from "./run-elected.ts";
