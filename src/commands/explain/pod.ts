/** Reads the pod that `explain` is asked about, in the cluster that has it, and finds out which cell it is in. */
import { type PodRecord, readPodRecord } from "../../api/pod.ts";
import { type KubeClient } from "../../kube/kube-client.ts";
import { pods } from "../../kube/resources.ts";
import { listAll } from "../../kube/watch/index.ts";
import { type OpenClusters } from "../clusters/open.ts";
import { reading, readingOne } from "../clusters/reading.ts";
import { type CoreLook } from "../fleet/look.ts";
import { type OpenPromise } from "../fleet/protectors.ts";
import { digestOfUID } from "../../accounting/history/uid-digest.ts";
import { type AskedPod } from "./judged.ts";

export type FoundPod =
  | { readonly ok: true; readonly asked: AskedPod }
  /** One line for people. */
  | { readonly ok: false; readonly exitCode: 1 | 2; readonly problem: string };

/**
 * The cell: --cell, or the only one that there is. The cluster: that of --worker with this cell; without any --worker
 * the core itself, as in an installation of one cluster.
 */
export async function findPod(
  at: { readonly namespace: string; readonly name: string },
  givenCell: string | undefined,
  clusters: OpenClusters,
  looks: readonly CoreLook[],
  signal: AbortSignal,
): Promise<FoundPod> {
  const known = knownCells(looks);
  const only = known.length === 1 ? known[0] : undefined;
  const cellID = givenCell ?? (clusters.workers.size === 1 ? [...clusters.workers.keys()][0] : only);
  if (cellID === undefined) {
    const names = known.length === 0 ? "none is known" : known.slice(0, namedMax).join(", ");
    return { ok: false, exitCode: 2, problem: `which cell is the pod in? Say --cell CELL (${names})` };
  }
  const client = clientOf(cellID, clusters);
  if (client === undefined) {
    const problem = `no --worker was given for cell ${cellID}; say --worker ${cellID}=CONTEXT`;
    return { ok: false, exitCode: 2, problem };
  }
  const { namespace, name } = at;
  const read = await readingOne(client, { resource: pods, namespace, name, role: "view" }, signal);
  if (!read.ok) return { ok: false, exitCode: 1, problem: read.problem };
  const pod = readPodRecord(read.value);
  if (pod === undefined) return { ok: false, exitCode: 1, problem: `${client.cluster}: the answer is not a Pod` };
  return { ok: true, asked: { cellID, pod, raw: read.value } };
}

/** Cells that a message names. */
const namedMax = 8;

function knownCells(looks: readonly CoreLook[]): readonly string[] {
  return [...new Set(looks.flatMap(({ cells }) => [...(cells?.cells.keys() ?? [])]))];
}

/** The cluster that holds the pods of a cell; undefined = none was given. */
export function clientOf(cellID: string, { workers, cores }: OpenClusters): KubeClient | undefined {
  if (workers.size > 0) return workers.get(cellID);
  return cores.size === 1 ? [...cores.values()][0] : undefined;
}

/** What has become of a promised pod. */
export interface PromisedPod {
  readonly name: string;
  readonly isTerminating: boolean;
}

/** Pods of a namespace that are looked through. With more, promised ones may not be found. */
const pagesMax = 40;

/**
 * The promised pods of one cell that are still there, by the UID of the promise, or by digest. Undefined = they cannot
 * be read, or no cluster was given.
 */
export async function promisedPods(
  namespace: string,
  promises: readonly OpenPromise[],
  client: KubeClient | undefined,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, PromisedPod> | undefined> {
  if (client === undefined || promises.length === 0) return undefined;
  const uids = new Set(promises.flatMap(({ podUID }) => podUID ?? []));
  const digests = new Set(promises.flatMap(({ podUIDDigests }) => podUIDDigests));
  const found = new Map<string, PromisedPod>();
  const seen = ({ uid, name, isTerminating }: PodRecord): void => {
    if (uids.has(uid)) found.set(uid, { name, isTerminating });
    const digest = digests.size === 0 ? "" : digestOfUID(uid);
    if (digests.has(digest)) found.set(digest, { name, isTerminating });
  };
  const access = { cluster: client.cluster, verb: "list", resource: pods, namespace, role: "view" } as const;
  const read = await reading(access, () =>
    listAll(
      client,
      { resource: pods, namespace },
      (raw) => {
        const pod = readPodRecord(raw);
        if (pod !== undefined) seen(pod);
      },
      { signal, pagesMax },
    ),
  );
  return read.ok ? found : undefined;
}
