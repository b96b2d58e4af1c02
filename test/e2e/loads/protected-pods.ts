/** What most cases begin with: a fleet, Ready pods in each worker, and one PodProtector over all of them. */
import { AvailableWatch } from "./available.ts";
import { type Cluster } from "../clusters/cluster.ts";
import { deletePods, type DeletionAttempt } from "../objects/deletions.ts";
import { type Fleet, type FleetOptions, startFleet } from "../fleet/fleet.ts";
import { startKubelet } from "../objects/kubelet.ts";
import { createNamespace, createPods } from "../objects/pods.ts";
import { type CaseContext } from "../runner/runner.ts";

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

export interface WaveOptions {
  readonly names: readonly string[];
  readonly inFlightPerCell: number;
  /** Default: the pods' own 30 s, which the fake kubelet ends at once. 0 = as `kubectl delete --force`. */
  readonly gracePeriodSeconds?: number;
}

/** Deletes pods of these names, at once, in all workers together. */
export async function deleteEverywhere(fleet: Fleet, wave: WaveOptions): Promise<readonly DeletionAttempt[]> {
  return deleteIn(
    fleet.workers.map(({ cluster }) => cluster),
    fleet.namespace,
    wave,
  );
}

/** The same without a fleet: what a wave costs in these clusters, in a namespace whose deletions nobody reviews. */
export async function deleteBare(
  context: CaseContext,
  clusters: readonly Cluster[],
  wave: Omit<WaveOptions, "names"> & { readonly podsPerCell: number },
): Promise<readonly DeletionAttempt[]> {
  const namespace = `${context.namespace}-bare`;
  let names: readonly string[] = [];
  for (const { admin } of clusters) {
    await createNamespace(admin, namespace);
    names = await createPods(admin, { namespace, count: wave.podsPerCell, namePrefix: "web", labels: webLabels });
  }
  const kubelets = clusters.map(({ admin }) => startKubelet({ admin, namespace, readyDelayMs: "never" }));
  try {
    return await deleteIn(clusters, namespace, { ...wave, names });
  } finally {
    await Promise.all(kubelets.map((kubelet) => kubelet.stop()));
  }
}

/** At once, in all these clusters together. */
export async function deleteIn(
  clusters: readonly Cluster[],
  namespace: string,
  { names, inFlightPerCell, gracePeriodSeconds }: WaveOptions,
): Promise<readonly DeletionAttempt[]> {
  const wave = {
    namespace,
    names,
    concurrency: inFlightPerCell,
    how: "delete",
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
  } as const;
  return (await Promise.all(clusters.map(({ admin }) => deletePods(admin, wave)))).flat();
}
