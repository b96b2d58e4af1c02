/**
 * Leases with what a check needs of them: whose they are, and both clocks of the last renewal.
 *
 * The Deployments of the roles, by the labels of the manifests, and the flags that they are given.
 */
import { cellLeaseLabels, observerLeaseName, readCellLease } from "../../../api/cell-lease.ts";
import { asList, fieldsOf } from "../../../api/json.ts";
import { parseTime } from "../../../api/micro-time.ts";
import { type FlagName } from "../../../config/flag-table.ts";
import { environmentName } from "../../../config/reading/environment.ts";
import { isKubeError, type KubeClient, resourcePath } from "../../../kube/kube-client.ts";
import { leases } from "../../../kube/resources.ts";
import { listAll } from "../../../kube/watch/index.ts";
import { type EpochMicros } from "../../../util/clock.ts";
import { listDeployments } from "../../fleet/replicas.ts";
import {
  type CellFacts,
  type DeploymentFacts,
  type HeartbeatFacts,
  type LeaseFacts,
  type NodeFacts,
} from "../facts.ts";

/** A Lease whose list of objects is full has 60 kB; those of nodes are small. */
const pageSize = 100;

/** Throws KubeError. */
export async function listHeartbeats(
  core: KubeClient,
  namespace: string,
  signal: AbortSignal,
): Promise<HeartbeatFacts> {
  const cells: CellFacts[] = [];
  let observer: HeartbeatFacts["observer"];
  let newest: EpochMicros | undefined;
  await listAll(
    core,
    { resource: leases, namespace, labelSelector: cellLeaseLabels.heartbeat },
    (raw) => {
      const lease = readCellLease(raw);
      if (lease === undefined) return;
      const facts = leaseFacts(raw);
      if (lease.cellID !== undefined) cells.push({ ...facts, cellID: lease.cellID, lease });
      else if (lease.name === observerLeaseName) observer = { ...facts, productVersion: lease.productVersion };
      const at = facts.writtenAt ?? facts.renewedAt;
      if (at !== undefined && at > (newest ?? 0)) newest = at;
    },
    { signal, pageSize },
  );
  return { cells: cells.toSorted((a, b) => (a.cellID < b.cellID ? -1 : 1)), observer, writtenAt: newest };
}

/** Where kubelets renew a Lease for each node. */
export const nodeLeases = "kube-node-lease";

/** Throws KubeError. */
export async function listNodes(worker: KubeClient, signal: AbortSignal): Promise<readonly NodeFacts[]> {
  const nodes: NodeFacts[] = [];
  await listAll(
    worker,
    { resource: leases, namespace: nodeLeases },
    (raw) => {
      const { name } = fieldsOf(fieldsOf(raw)["metadata"]);
      if (typeof name === "string") nodes.push({ ...leaseFacts(raw), name });
    },
    { signal, pageSize },
  );
  return nodes;
}

/** Undefined = there is none. Throws KubeError. */
export async function readLease(
  cluster: KubeClient,
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<LeaseFacts | undefined> {
  try {
    return leaseFacts(
      await cluster.request({ method: "GET", path: resourcePath(leases, { namespace, name }), signal }),
    );
  } catch (error) {
    if (isKubeError(error, "notFound")) return undefined;
    throw error;
  }
}

function leaseFacts(raw: unknown): LeaseFacts {
  const { metadata, spec } = fieldsOf(raw);
  const { holderIdentity, renewTime } = fieldsOf(spec);
  return {
    holder: typeof holderIdentity === "string" ? holderIdentity : "",
    renewedAt: parseTime(renewTime),
    writtenAt: writtenAt(fieldsOf(metadata)["managedFields"]),
  };
}

/** When the API server stored the present renewTime: it notes who changed which fields, and when, by its own clock. */
function writtenAt(managedFields: unknown): EpochMicros | undefined {
  const times = asList(managedFields)
    .map(fieldsOf)
    .flatMap(({ fieldsV1, time }) => {
      const spec = fieldsOf(fieldsOf(fieldsV1)["f:spec"]);
      return spec["f:renewTime"] === undefined ? [] : [parseTime(time) ?? 0];
    });
  const newest = Math.max(0, ...times);
  return newest === 0 ? undefined : (newest as EpochMicros);
}

/** Flags that a check compares; each may stand in the environment instead. */
const readFlags = [
  "aggregator-ca-bundle-of",
  "aggregator-cell-id",
  "update-trigger-dummy-pod-namespace",
  "update-trigger-dummy-pod-name",
  "aggregator-leader-elector-name",
  "worker-kube-target-namespace",
] as const satisfies readonly FlagName[];

/** Empty where Podseidon runs in another way. Throws KubeError. */
export function readDeployments(
  cluster: KubeClient,
  namespace: string,
  signal: AbortSignal,
): Promise<readonly DeploymentFacts[]> {
  return listDeployments(cluster, { namespace, signal }, (replicas, raw) => {
    const { template } = fieldsOf(fieldsOf(raw)["spec"]);
    const pod = fieldsOf(fieldsOf(template)["spec"]);
    const containers = asList(pod["containers"]).map(fieldsOf);
    const account = pod["serviceAccountName"];
    const image = containers[0]?.["image"];
    return {
      ...replicas,
      image: typeof image === "string" ? image : "",
      account: typeof account === "string" ? account : "default",
      flags: new Map(containers.flatMap(flagsOf)),
    };
  });
}

/** Of a container: what stands in its arguments takes precedence. */
function flagsOf({ args, env }: Readonly<Record<string, unknown>>): readonly (readonly [string, string])[] {
  const variables = new Map(
    asList(env)
      .map(fieldsOf)
      .map(({ name, value }) => [name, value]),
  );
  const ofVariables = readFlags.flatMap((flag) => {
    const value = variables.get(environmentName(flag));
    return typeof value === "string" ? [[flag, value] as const] : [];
  });
  const ofArguments = asList(args).flatMap((arg) => {
    const [, flag = "", value = ""] = /^--([^=]+)=(.*)$/s.exec(String(arg)) ?? [];
    return flag === "" ? [] : [[flag, value] as const];
  });
  return [...ofVariables, ...ofArguments];
}
