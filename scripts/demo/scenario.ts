/** What the demo runs on: names and sizes. Everything that is shown later is measured. */

export const namespace = "shop";
export const cellNames = ["worker-1", "worker-2", "worker-3"] as const;
export type CellName = (typeof cellNames)[number];

/** In each worker; one of them is drained. */
export const nodeNames = ["node-1", "node-2", "node-3"] as const;

export interface ServicePlan {
  readonly name: string;
  /** Replicas of the worker's own Deployment. */
  readonly shares: Readonly<Record<CellName, number>>;
}

/** Kubernetes' own default of maxUnavailable, from which the generator takes the floor. */
export const maxUnavailablePercent = 25;

/** Three sizes. */
export const servicePlans: readonly ServicePlan[] = [
  { name: "search", shares: { "worker-1": 50, "worker-2": 40, "worker-3": 30 } },
  { name: "checkout", shares: { "worker-1": 18, "worker-2": 15, "worker-3": 12 } },
  { name: "billing", shares: { "worker-1": 4, "worker-2": 4, "worker-3": 4 } },
];

/** Replicas over all workers. */
export function replicasOf(plan: ServicePlan): number {
  return cellNames.reduce((sum, cell) => sum + plan.shares[cell], 0);
}

/**
 * What the generator has to come to. The floors that are shown and judged by are read from the PodProtectors; this
 * guards against a lost one.
 */
export function expectedFloorOf(plan: ServicePlan): number {
  const replicas = replicasOf(plan);
  return replicas - Math.floor((replicas * maxUnavailablePercent) / 100);
}
