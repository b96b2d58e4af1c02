/**
 * Leader election on a Lease, side by side with client-go's: the protocol (elector.ts, lease.ts), its loop
 * (run-elected.ts). The settings and their rule are in config/ (election.ts).
 */
export { createIdentity, Elector } from "./elector.ts";
export { runElected } from "./run-elected.ts";
