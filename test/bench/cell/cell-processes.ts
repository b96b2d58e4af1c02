/** Aggregators as production runs them, each in a process of its own, over a cell and a core that are others. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { ProcessSet } from "../../../scripts/child-processes.ts";
import { get } from "../../../scripts/role-process.ts";
import { choosePorts, listenerArgs } from "../../e2e/fleet/process.ts";
import { cellNamespaces, cellProtectors, protectorName } from "./cell-shape.ts";
import type { CellOrder } from "./cell-server.ts";
import { CountedCore } from "../processes/counted-core.ts";
import { type ProductProcess, startProductProcess } from "../processes/product-process.ts";

interface CountedCell {
  readonly aggregation?: { readonly totalReplicas: number };
}

/** A round of events takes milliseconds, a list seconds. */
const answerLimitMs = 120_000;

export class CellProcesses {
  readonly core: CountedCore;
  readonly #server: ChildProcess;
  readonly #url: string;
  readonly #processes = new ProcessSet();
  readonly #directory = mkdtempSync(path.join(os.tmpdir(), "podseidon-bench-"));

  private constructor(core: CountedCore, server: ChildProcess, url: string) {
    this.core = core;
    this.#server = server;
    this.#url = url;
    process.once("exit", () => this.#processes.killAll());
  }

  /** A cell of so many pods, and a core with a PodProtector for each workload. */
  static async start(pods: number): Promise<CellProcesses> {
    const core = await CountedCore.start();
    await core.create(
      "namespaces",
      cellNamespaces().map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
    );
    await core.create("podprotectors", cellProtectors(pods));
    const args = [String(pods), core.url];
    const server = fork(fileURLToPath(new URL("cell-server.ts", import.meta.url)), args, { stdio: "inherit" });
    return new CellProcesses(core, server, (await answerOf(server)) as string);
  }

  /** Does not wait until it is ready: its start is what is measured. */
  async startAggregator(name: string): Promise<ProductProcess> {
    const ports = await choosePorts();
    const args = [
      "--role=aggregator",
      `--core-kube-master=${this.core.url}`,
      `--worker-kube-master=${this.#url}`,
      "--aggregator-cell-id=cell",
      "--update-trigger-enable=false",
      ...listenerArgs(ports, undefined),
    ];
    const profileDirectory =
      process.env["PROFILE"] === "1" ? fileURLToPath(new URL("../../../test-results", import.meta.url)) : undefined;
    const processes = this.#processes;
    return startProductProcess({ name, args, ports, processes, directory: this.#directory, profileDirectory });
  }

  async order(order: CellOrder): Promise<void> {
    this.#server.send(order);
    await answerOf(this.#server);
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
    await this.#processes.end();
    this.#server.disconnect();
    this.core.stop();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

async function answerOf(child: ChildProcess): Promise<unknown> {
  const [message] = (await once(child, "message", { signal: AbortSignal.timeout(answerLimitMs) })) as [unknown];
  return message;
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
