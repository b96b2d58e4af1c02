/**
 * A webhook as production runs it, src/main.ts with the flags at their defaults, in a process of its own over a real
 * core.
 */
import { Pool } from "undici";
import { type ProcessSet } from "../../../scripts/child-processes.ts";
import { choosePorts, listenerArgs, type PodseidonPorts } from "../../e2e/fleet/process.ts";
import { type ProductProcess, startProductProcess } from "../processes/product-process.ts";

export interface WebhookProcess extends Pick<ProductProcess, "pid" | "metrics" | "usage" | "stop"> {
  /** As many connections as `inFlight`. */
  readonly pool: Pool;
  /** Further connections, for callers that must not wait for those of `pool`. */
  openPool(connections: number): Pool;
}

export interface WebhookProcessOptions {
  readonly name: string;
  readonly kubeconfig: string;
  /** Without it the webhook speaks HTTP. */
  readonly tls: { readonly certFile: string; readonly keyFile: string; readonly caPem: string } | undefined;
  readonly inFlight: number;
  readonly processes: ProcessSet;
  /** For the log. */
  readonly directory: string;
  /** Where the process leaves a CPU profile when it ends; undefined = it makes none. */
  readonly profileDirectory: string | undefined;
}

const readyLimitMs = 30_000;

export async function startWebhookProcess(options: WebhookProcessOptions): Promise<WebhookProcess> {
  const { name, kubeconfig, tls, inFlight, processes, directory, profileDirectory } = options;
  const ports = await choosePorts();
  const args = argsOf(kubeconfig, ports, tls);
  const webhook = startProductProcess({ name, args, ports, processes, directory, profileDirectory });
  await webhook.ready(readyLimitMs);
  const pools: Pool[] = [];
  const openPool = (connections: number): Pool => {
    const origin = `${tls === undefined ? "http" : "https"}://localhost:${ports.webhook}`;
    const opened = new Pool(origin, {
      connections,
      connect: { family: 4, ...(tls !== undefined && { ca: tls.caPem }) },
    });
    pools.push(opened);
    return opened;
  };
  return {
    pid: webhook.pid,
    pool: openPool(inFlight),
    openPool,
    metrics: () => webhook.metrics(),
    usage: () => webhook.usage(),
    async stop() {
      await Promise.all(pools.map((pool) => pool.destroy()));
      await webhook.stop();
    },
  };
}

function argsOf(kubeconfig: string, ports: PodseidonPorts, tls: WebhookProcessOptions["tls"]): readonly string[] {
  return [
    "--role=webhook",
    `--core-kube-config=${kubeconfig}`,
    "--webhook-drain-delay=0s",
    ...(tls === undefined ? ["--webhook-bind-addr=127.0.0.1", `--webhook-port=${ports.webhook}`] : []),
    ...listenerArgs(ports, tls),
  ];
}
