/**
 * Deployments with their pods in the one cluster that is core and worker, kept by the real controllers and a fake
 * kubelet; each has the PodProtector that the generator makes.
 */
import { type AdminClient } from "../clusters/admin-client.ts";
import { AvailableWatch } from "./available.ts";
import { Limiter } from "../clusters/limiter.ts";
import { type Fleet, type FleetOptions, startFleet } from "../fleet/fleet.ts";
import { startKubelet } from "../objects/kubelet.ts";
import { isServing, listPods } from "../objects/pods.ts";
import { type CaseContext } from "../runner/runner.ts";
import { second, waitFor } from "../clusters/wait.ts";

export interface WorkloadsOptions {
  readonly count: number;
  readonly replicas: number;
  /** Added to the metadata of the Deployment with that name. */
  readonly metadata?: (name: string) => Readonly<Record<string, unknown>>;
  readonly fleet?: FleetOptions;
  /** Runs before the Deployments are made. */
  readonly prepare?: (fleet: Fleet) => Promise<void>;
}

export interface Workloads {
  readonly fleet: Fleet;
  /** Of the Deployments. */
  readonly names: readonly string[];
  readonly available: AvailableWatch;
}

/** Each pod takes some requests of the controllers, which make 20 a second. */
const startLimitMs = 180 * second;
const requestsInFlight = 16;

/** What the generator makes of `replicas` with the default of 25 %: at least one pod may go. */
export function floorOf(replicas: number): number {
  return replicas - Math.max(1, Math.floor(replicas / 4));
}

export function protectorOf(deployment: string): string {
  return `deployment-${deployment}`;
}

export function deploymentsPath({ namespace }: Pick<Fleet, "namespace">): string {
  return `/apis/apps/v1/namespaces/${namespace}/deployments`;
}

/** Sets the replicas at the path of a Deployment, or of its scale subresource. */
export async function scale(
  admin: AdminClient,
  path: string,
  to: { readonly replicas: number; readonly manager: string },
): Promise<void> {
  await admin.ask("PATCH", path, {
    body: { spec: { replicas: to.replicas } },
    contentType: "application/merge-patch+json",
    query: { fieldManager: to.manager },
  });
}

/** As a person's manifest has it. */
export function deploymentManifest(
  name: string,
  replicas: number,
  metadata: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  const labels = { app: "web", workload: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, ...metadata },
    spec: {
      replicas,
      selector: { matchLabels: { workload: name } },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "none" }] } },
    },
  };
}

/** Resolves when all pods serve and are counted, each PodProtector has its floor, and the worker calls the webhook. */
export async function startWorkloads(context: CaseContext, options: WorkloadsOptions): Promise<Workloads> {
  const { count, replicas, metadata } = options;
  const fleet = await startFleet(context, { workers: ["core"], ...options.fleet });
  const { admin } = fleet.core;
  const kubelet = startKubelet({ admin, namespace: fleet.namespace, bindTo: "node-0" });
  context.cleanup(() => kubelet.stop());
  await options.prepare?.(fleet);
  const names = Array.from({ length: count }, (_, index) => `web-${index}`);
  await new Limiter(requestsInFlight).all(names, (name) =>
    admin.create(deploymentsPath(fleet), deploymentManifest(name, replicas, metadata?.(name))),
  );
  const available = new AvailableWatch(context, fleet, "app=web");
  await waitFor("all pods serve", startLimitMs, () => available.serving === count * replicas);
  await available.begin(count * replicas);
  for (const name of names) {
    await waitFloor(fleet, name, floorOf(replicas), startLimitMs);
    await fleet.waitCounted(protectorOf(name), replicas);
  }
  await fleet.waitIntercepted();
  return { fleet, names, available };
}

export async function waitFloor(fleet: Fleet, deployment: string, floor: number, limitMs: number): Promise<void> {
  await waitFor(`the floor of ${deployment} is ${floor}`, limitMs, async () => {
    return (await fleet.protector(protectorOf(deployment))).spec.minAvailable === floor;
  });
}

/** The UIDs of the pods that serve. */
export async function servingUIDs({ core, namespace }: Fleet): Promise<ReadonlySet<string>> {
  const pods = await listPods(core.admin, namespace, "app=web");
  return new Set(pods.filter(isServing).map(({ metadata }) => metadata.uid));
}
