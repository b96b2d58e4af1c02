/**
 * The core cluster of the benchmark: a real kube-apiserver and etcd, with PodProtectors whose counts this process
 * writes in place of aggregators.
 */
import { type KubeAssets } from "../../../scripts/kube-assets.ts";
import { type AdminClient, type KubeObject } from "../../e2e/clusters/admin-client.ts";
import { type ProcessSet } from "../../../scripts/child-processes.ts";
import { type Cluster, startCluster } from "../../e2e/clusters/cluster.ts";
import { applyCrd } from "../../e2e/objects/crd.ts";
import { crdFile } from "../../e2e/fleet/fleet.ts";
import { cell, type Json, protector } from "../../unit/webhook/support/objects.ts";

const namespace = "ns";
/** Requests at once while the objects are created: more do not make a small API server faster. */
const creatorsCount = 32;

/** A PodProtector as the API server returns it. */
export interface ProtectorObject extends KubeObject {
  readonly status?: {
    readonly cells: readonly {
      readonly cellID: string;
      readonly aggregation: Json;
      readonly admissionHistory?: { readonly buckets?: readonly { readonly counter?: number }[] };
    }[];
  };
}

export async function startCore(assets: KubeAssets, processes: ProcessSet, directory: string): Promise<Cluster> {
  const cluster = await startCluster({ name: "bench-core", nodes: 0 }, { assets, processes, directory });
  await applyCrd(cluster.admin, crdFile);
  await cluster.admin.create("/api/v1/namespaces", {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: namespace },
  });
  return cluster;
}

const collection = `/apis/podseidon.kubewharf.io/v1alpha1/namespaces/${namespace}/podprotectors`;
export const protectorPath = (name: string): string => `${collection}/${name}`;

/** Creates PodProtectors that select app=<name>, keep one pod, and have `available` more in the cell c1. */
export async function createProtectors(
  admin: AdminClient,
  names: readonly string[],
  available: number,
  say: (line: string) => void,
): Promise<void> {
  const rest = [...names];
  const create = async (): Promise<void> => {
    for (let name = rest.pop(); name !== undefined; name = rest.pop()) {
      const object = protector({ name, minAvailable: 1, selector: { matchLabels: { app: name } } });
      const { uid: _, ...metadata } = object["metadata"] as Json;
      const created = await admin.create<ProtectorObject>(collection, { ...object, metadata });
      const status = { ...(object["status"] as Json), cells: [cell("c1", available + 1)] };
      await admin.ask("PUT", `${protectorPath(name)}/status`, { body: { ...created, status } });
      if (rest.length > 0 && rest.length % 2_000 === 0) say(`${rest.length} PodProtectors are still to be created`);
    }
  };
  await Promise.all(Array.from({ length: creatorsCount }, create));
}

/**
 * Takes the settled admissions away, all of them, as an aggregator does that saw every pod terminate; again after a
 * conflict. Counts its writes.
 */
export class Settler {
  readonly #admin: AdminClient;
  readonly #path: string;
  readonly #everyMs: number;
  #stopped = false;
  #running: Promise<void> | undefined;
  writes = 0;
  conflicts = 0;

  constructor(admin: AdminClient, name: string, everyMs: number) {
    this.#admin = admin;
    this.#path = protectorPath(name);
    this.#everyMs = everyMs;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      await new Promise((resolve) => setTimeout(resolve, this.#everyMs));
      await this.settle();
    }
  }

  async settle(): Promise<void> {
    for (;;) {
      const live = await this.#admin.get<ProtectorObject>(this.#path);
      if (historyOf(live).buckets === 0) return;
      const now = new Date().toISOString().replace("Z", "000Z");
      const cells = live.status?.cells.map(({ cellID, aggregation }) => {
        const version = String(Number(aggregation["resourceVersion"]) + 1);
        return {
          cellID,
          aggregation: { ...aggregation, resourceVersion: version, lastEventTime: now, countedAt: now },
        };
      });
      const body = { ...live, status: { ...live.status, cells } };
      const { code } = await this.#admin.request("PUT", `${this.#path}/status`, { body });
      if (code === 200) {
        this.writes += 1;
        return;
      }
      if (code !== 409) throw new Error(`the settler's write is answered ${code}`);
      this.conflicts += 1;
    }
  }
}

/** Length of the admission history over all cells: buckets, and the admissions that they stand for. */
export function historyOf({ status }: ProtectorObject): { readonly buckets: number; readonly admissions: number } {
  const buckets = (status?.cells ?? []).flatMap(({ admissionHistory }) => admissionHistory?.buckets ?? []);
  return { buckets: buckets.length, admissions: buckets.reduce((sum, { counter = 1 }) => sum + counter, 0) };
}
