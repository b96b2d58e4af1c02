/** How many processes of Podseidon are ready, by the Deployments of the manifests. */
import { fieldsOf } from "../../api/json.ts";
import { type KubeClient, type Resource } from "../../kube/kube-client.ts";
import { listAll } from "../../kube/watch/index.ts";

export const deployments: Resource = { group: "apps", version: "v1", resource: "deployments" };

export interface ReadyReplicas {
  /** Name of the Deployment. */
  readonly name: string;
  /** The label app.kubernetes.io/component: "webhook", "generator", "aggregator". */
  readonly component: string;
  readonly ready: number;
  readonly wanted: number;
}

const labelSelector = "app.kubernetes.io/name=podseidon";
const componentLabel = "app.kubernetes.io/component";

/** Of Deployments with the labels of our manifests; empty where Podseidon runs in another way. Throws KubeError. */
export async function listReplicas(
  client: KubeClient,
  namespace: string,
  signal: AbortSignal,
): Promise<readonly ReadyReplicas[]> {
  const found = await listDeployments(client, { namespace, signal }, (replicas) => replicas);
  return found.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** The same, with what `read` makes of each; `raw` is the Deployment. Throws KubeError. */
export async function listDeployments<T>(
  client: KubeClient,
  { namespace, signal }: { readonly namespace: string; readonly signal: AbortSignal },
  read: (replicas: ReadyReplicas, raw: unknown) => T,
): Promise<readonly T[]> {
  const found: T[] = [];
  await listAll(
    client,
    { resource: deployments, namespace, labelSelector },
    (raw) => {
      const { metadata, spec, status } = fieldsOf(raw);
      const { name, labels } = fieldsOf(metadata);
      const component = fieldsOf(labels)[componentLabel];
      if (typeof name !== "string" || typeof component !== "string") return;
      const [wanted, ready] = [fieldsOf(spec)["replicas"], fieldsOf(status)["readyReplicas"]];
      const replicas = {
        name,
        component,
        ready: typeof ready === "number" ? ready : 0,
        wanted: typeof wanted === "number" ? wanted : 1,
      };
      found.push(read(replicas, raw));
    },
    { signal },
  );
  return found;
}
