/** The dashboard of a fleet of the API double, served on loopback, on the fleet's clock. */
import { startDashboard, type RunningDashboard } from "../../src/commands/dashboard/dashboard.ts";
import { podExplainer } from "../../src/commands/dashboard/explain-pod.ts";
import { createSeededRng } from "../support/seeded-rng.ts";
import { type Fleet, systemNamespace } from "../unit/commands/support/fleet.ts";

/** The URL has the same secret each time. */
export async function serve(fleet: Fleet, port = 0): Promise<RunningDashboard> {
  const { clock, core, clusters, program } = fleet;
  const cores = new Map([["core", core.client]]);
  const workers = new Map([["eu-west", clusters.get("eu-west")!.client]]);
  const choice = {
    kubeconfig: undefined,
    cores: new Map([["core", undefined]]),
    workers: new Map([["eu-west", "eu-west"]]),
    namespace: undefined,
    leaseNamespace: systemNamespace,
  };
  const open = { cores, workers, choice, objectNamespace: "default", close: async () => {} };
  return startDashboard({
    cores,
    namespace: undefined,
    leaseNamespace: systemNamespace,
    port,
    token: "0123456789abcdef0123456789abcdef",
    clock,
    rng: createSeededRng(1),
    explain: podExplainer(open, { clock, program }),
  });
}
