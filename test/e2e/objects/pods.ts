/** Pods without a kubelet: created bound to a node, made Ready through their status. */
import { type AdminClient, type KubeObject, type ObjectList } from "../clusters/admin-client.ts";
import { Limiter } from "../clusters/limiter.ts";

export interface PodCondition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime?: string;
}

export interface Pod extends KubeObject {
  readonly spec: { readonly nodeName?: string };
  readonly status?: { readonly phase?: string; readonly conditions?: readonly PodCondition[] };
}

export interface CreatePodsOptions {
  readonly namespace: string;
  readonly count: number;
  /** Names are `<namePrefix>-<index>`. */
  readonly namePrefix: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Default node-0. */
  readonly nodeName?: string;
  /** Default true: Running and Ready before this resolves. */
  readonly ready?: boolean;
  /** What a deletion without its own grace period uses; default 30 s, as in Kubernetes. */
  readonly terminationGracePeriodSeconds?: number;
}

/** Enough to keep two cores busy; more only makes the latencies longer. */
const createsInFlight = 32;

export function podPath(namespace: string, name: string): string {
  return `/api/v1/namespaces/${namespace}/pods/${name}`;
}

export async function createNamespace(
  admin: AdminClient,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<void> {
  await admin.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } });
}

/** Creates pods and resolves to their names, in order. */
export async function createPods(admin: AdminClient, options: CreatePodsOptions): Promise<readonly string[]> {
  const { namespace, labels, annotations = {}, nodeName = "node-0", ready = true } = options;
  const { terminationGracePeriodSeconds = 30 } = options;
  const names = Array.from({ length: options.count }, (_, index) => `${options.namePrefix}-${index}`);
  await new Limiter(createsInFlight).all(names, async (name) => {
    await admin.create(`/api/v1/namespaces/${namespace}/pods`, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, labels, annotations },
      spec: { nodeName, terminationGracePeriodSeconds, containers: [{ name: "main", image: "none" }] },
    });
    if (ready) await setPodReady(admin, { namespace, name });
  });
  return names;
}

/**
 * Writes the status that a kubelet writes for a running pod; `ready` false is a pod whose probe fails, `at` what the
 * node's clock says. A pod with another UID is left alone (404 or 409).
 */
export async function setPodReady(
  admin: AdminClient,
  pod: { readonly namespace: string; readonly name: string; readonly uid?: string },
  { ready = true, at = new Date().toISOString() }: { readonly ready?: boolean; readonly at?: string } = {},
): Promise<void> {
  const condition = (type: string, value: boolean): PodCondition => ({
    type,
    status: value ? "True" : "False",
    lastTransitionTime: at,
  });
  await admin.mergePatch(`${podPath(pod.namespace, pod.name)}/status`, {
    ...(pod.uid === undefined ? {} : { metadata: { uid: pod.uid } }),
    status: {
      phase: "Running",
      startTime: at,
      conditions: [
        condition("PodScheduled", true),
        condition("Initialized", true),
        condition("ContainersReady", ready),
        condition("Ready", ready),
      ],
    },
  });
}

export async function listPods(admin: AdminClient, namespace: string, labelSelector = ""): Promise<readonly Pod[]> {
  const list = await admin.get<ObjectList<Pod>>(`/api/v1/namespaces/${namespace}/pods`, { labelSelector });
  return list.items;
}

export function isReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

/** Ready and not being deleted: what counts towards a floor (without minReadySeconds). */
export function isServing(pod: Pod): boolean {
  return isReady(pod) && pod.metadata.deletionTimestamp === undefined;
}
