/**
 * How many processes of Podseidon are ready, by the Deployments of the manifests.
 *
 * Which release each role runs, as it says in its heartbeats: aggregators in the Leases of their cells, the generator
 * in its own. An upgrade that stopped half-way shows here (docs/upgrading.md#what-shows-it).
 */
import { fieldsOf } from "../../api/json.ts";
import { type KubeClient, type Resource } from "../../kube/kube-client.ts";
import { listed } from "../clusters/reading.ts";
import { type FleetCells } from "./cells.ts";

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
export function listDeployments<T>(
  client: KubeClient,
  { namespace, signal }: { readonly namespace: string; readonly signal: AbortSignal },
  read: (replicas: ReadyReplicas, raw: unknown) => T,
): Promise<readonly T[]> {
  const decode = (raw: unknown): T | undefined => {
    const { metadata, spec, status } = fieldsOf(raw);
    const { name, labels } = fieldsOf(metadata);
    const component = fieldsOf(labels)[componentLabel];
    if (typeof name !== "string" || typeof component !== "string") return undefined;
    const [wanted, ready] = [fieldsOf(spec)["replicas"], fieldsOf(status)["readyReplicas"]];
    const [readyCount, wantedCount] = [typeof ready === "number" ? ready : 0, typeof wanted === "number" ? wanted : 1];
    return read({ name, component, ready: readyCount, wanted: wantedCount }, raw);
  };
  return listed(client, { resource: deployments, namespace, labelSelector }, decode, { signal });
}

/** Cells that are named in one line. */
const namedMax = 5;

/**
 * `generator 0.2.0 (abc), aggregators of worker-1, worker-2 0.1.0 (def)` when they differ; undefined = all that is
 * known is the same.
 */
export function differingVersions({ cells, observer }: FleetCells): string | undefined {
  const aggregators = new Map<string, string[]>();
  for (const { cellID, lease } of cells.values()) {
    if (lease.productVersion === undefined) continue;
    const same = aggregators.get(lease.productVersion);
    if (same === undefined) aggregators.set(lease.productVersion, [cellID]);
    else same.push(cellID);
  }
  const generator = observer?.lease.productVersion;
  const all = new Set([...aggregators.keys(), ...(generator === undefined ? [] : [generator])]);
  if (all.size < 2) return undefined;
  const texts = Array.from(aggregators, ([version, names]) => `${aggregatorsText(names)} ${version}`);
  return [...(generator === undefined ? [] : [`generator ${generator}`]), ...texts].join(", ");
}

function aggregatorsText(cells: readonly string[]): string {
  const more = cells.length > namedMax ? ` and ${cells.length - namedMax} more` : "";
  return `aggregator${cells.length === 1 ? "" : "s"} of ${cells.slice(0, namedMax).join(", ")}${more}`;
}
