/** The leader election of a role, with its readiness check. */
import type { ElectorConfig } from "../config/config.ts";
import { type KubeClient } from "../kube/kube-client.ts";
import { createIdentity, Elector } from "../kube/leader-election/index.ts";
import { type Logger } from "../util/logger.ts";
import { type Runtime } from "./runtime.ts";

export interface RoleElection {
  readonly role: "aggregator" | "generator";
  readonly config: ElectorConfig;
  /** The cluster that holds the Lease. */
  readonly clusterClass: "core" | "worker";
  /** The client of that cluster for elections. */
  readonly client: KubeClient;
  readonly logger: Logger;
}

/** Registers upstream's check `<role>-leader-elector/elector`; like upstream, not when the election is disabled. */
export function createElector(runtime: Runtime, { role, ...election }: RoleElection): Elector {
  const { clock, rng, metrics, health } = runtime;
  const elector = new Elector({ ...election, electorName: role, identity: createIdentity(rng), clock, rng, metrics });
  if (election.config.enable) health.register(`${role}-leader-elector/elector`, () => elector.check());
  return elector;
}
