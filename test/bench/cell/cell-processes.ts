/** Aggregators as production runs them, each in a process of its own, over a cell and a core that are others. */
import { type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { get } from "../../../scripts/role-process.ts";
import { ask, messageOf, startChild } from "../processes/child.ts";
import { CountedCore } from "../processes/counted-core.ts";
import { type ProductProcess, Products } from "../processes/products.ts";
import type { CellOrder } from "./cell-server.ts";
import { cellNamespaces, cellProtectors, protectorName } from "./cell-shape.ts";

interface CountedCell {
  readonly aggregation?: { readonly totalReplicas: number };
}

/** A round of events takes milliseconds, a list seconds. */
const answerLimitMs = 120_000;

export class CellProcesses {
  readonly core: CountedCore;
  readonly #server: ChildProcess;
  readonly #url: string;
  readonly #products = new Products();

  private constructor(core: CountedCore, server: ChildProcess, url: string) {
    this.core = core;
    this.#server = server;
    this.#url = url;
  }

  /** A cell of so many pods, and a core with a PodProtector for each workload. */
  static async start(pods: number): Promise<CellProcesses> {
    const core = await CountedCore.start();
    await core.create(
      "namespaces",
      cellNamespaces().map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
    );
    await core.create("podprotectors", cellProtectors(pods));
    const server = startChild(new URL("cell-server.ts", import.meta.url), [String(pods), core.url]);
    return new CellProcesses(core, server, await messageOf(server, answerLimitMs));
  }

  /** Does not wait until it is ready: its start is what is measured. */
  startAggregator(name: string): Promise<ProductProcess> {
    return this.#products.start(name, () => [
      "--role=aggregator",
      `--core-kube-master=${this.core.url}`,
      `--worker-kube-master=${this.#url}`,
      "--aggregator-cell-id=cell",
      "--update-trigger-enable=false",
    ]);
  }

  async order(order: CellOrder): Promise<void> {
    await ask(this.#server, order, answerLimitMs);
  }

  /** Status writes of PodProtectors so far. */
  async statusWrites(): Promise<number> {
    const counts = await this.core.counts();
    return (counts["PUT podprotectors/status"] ?? 0) + (counts["PATCH podprotectors/status"] ?? 0);
  }

  /** Of the Lease for which aggregators of the cell compete. */
  async leaseHolder(): Promise<string | undefined> {
    const path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/podseidon-aggregator-cell";
    return ((await this.#read(path)) as { spec?: { holderIdentity?: string } }).spec?.holderIdentity;
  }

  /** The pods that are counted for the workload with this number. */
  async totalOf(workload: number): Promise<number | undefined> {
    const { namespace, name } = protectorName(workload);
    const path = `/apis/podseidon.kubewharf.io/v1alpha1/namespaces/${namespace}/podprotectors/${name}`;
    const { status } = (await this.#read(path)) as { status?: { cells: readonly CountedCell[] } };
    return status?.cells[0]?.aggregation?.totalReplicas;
  }

  async #read(path: string): Promise<unknown> {
    return JSON.parse((await get(`${this.core.url}${path}`)).text) as unknown;
  }

  async stop(): Promise<void> {
    await this.#products.end();
    this.#server.disconnect();
    this.core.stop();
  }
}

/** As the process is, without a collection before; 0 where the host has no /proc. */
export function residentBytes(pid: number): number {
  try {
    const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Number(kibibytes ?? 0) * 1024;
  } catch {
    return 0;
  }
}
