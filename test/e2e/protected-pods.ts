/** What most cases begin with: a fleet, Ready pods in each worker, and one PodProtector over all of them. */
import { AvailableWatch } from "./available.ts";
import { deletePods, type DeletionAttempt } from "./deletions.ts";
import { type Fleet, type FleetOptions, startFleet } from "./fleet.ts";
import { startKubelet } from "./kubelet.ts";
import { createPods } from "./pods.ts";
import { type CaseContext } from "./runner.ts";

export interface ProtectedPodsOptions extends FleetOptions {
  readonly podsPerCell: number;
  /** minAvailable of the PodProtector "web". */
  readonly floor: number;
}

export interface ProtectedPods {
  readonly fleet: Fleet;
  readonly available: AvailableWatch;
  /** The pods of each worker have the same names: web-0, web-1 and so on. */
  readonly names: readonly string[];
}

export const webLabels = { app: "web" };

/** Resolves when all pods are counted and the workers call the webhook. */
export async function startProtectedPods(context: CaseContext, options: ProtectedPodsOptions): Promise<ProtectedPods> {
  const { podsPerCell, floor } = options;
  const fleet = await startFleet(context, options);
  const { namespace, workers } = fleet;
  let names: readonly string[] = [];
  for (const { cluster } of workers) {
    const { admin } = cluster;
    names = await createPods(admin, { namespace, count: podsPerCell, namePrefix: "web", labels: webLabels });
    const kubelet = startKubelet({ admin, namespace, readyDelayMs: "never" });
    context.cleanup(() => kubelet.stop());
  }
  const available = new AvailableWatch(context, fleet, "app=web");
  const all = workers.length * podsPerCell;
  await available.begin(all);
  await fleet.protect("web", webLabels, floor, all);
  await fleet.waitIntercepted();
  return { fleet, available, names };
}

/** Deletes pods of these names, at once, in all workers together. */
export async function deleteEverywhere(
  fleet: Fleet,
  names: readonly string[],
  inFlightPerCell: number,
): Promise<readonly DeletionAttempt[]> {
  const attempts = fleet.workers.map(({ cluster }) =>
    deletePods(cluster.admin, {
      namespace: fleet.namespace,
      names,
      concurrency: inFlightPerCell,
      how: "delete",
      gracePeriodSeconds: 0,
    }),
  );
  return (await Promise.all(attempts)).flat();
}
