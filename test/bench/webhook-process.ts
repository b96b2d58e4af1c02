/**
 * A webhook as production runs it, src/main.ts with the flags at their defaults, in a process of its own over a real
 * core.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Pool } from "undici";
import { type ProcessSet } from "../../scripts/child-processes.ts";
import { get } from "../../scripts/role-process.ts";
import { MetricsText } from "../e2e/metrics-text.ts";
import { choosePorts, listenerArgs, type PodseidonPorts } from "../e2e/process.ts";
import { waitFor } from "../e2e/wait.ts";
import { type Usage } from "./child-hook.ts";

export interface WebhookProcess {
  readonly pid: number;
  /** As many connections as `inFlight`. */
  readonly pool: Pool;
  /** Further connections, for callers that must not wait for those of `pool`. */
  openPool(connections: number): Pool;
  metrics(): Promise<MetricsText>;
  usage(): Promise<Usage>;
  stop(): Promise<void>;
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

const root = fileURLToPath(new URL("../../", import.meta.url));
const readyLimitMs = 30_000;
const stopLimitMs = 10_000;
const at = (port: number, path: string): string => `http://127.0.0.1:${port}${path}`;

export async function startWebhookProcess(options: WebhookProcessOptions): Promise<WebhookProcess> {
  const { name, kubeconfig, tls, inFlight, processes, directory, profileDirectory } = options;
  const ports = await choosePorts();
  mkdirSync(directory, { recursive: true });
  const log = openSync(path.join(directory, `${name}.log`), "a");
  const child = fork(path.join(root, "src/main.ts"), argsOf(kubeconfig, ports, tls), {
    execArgv: [
      "--expose-gc",
      `--import=${new URL("child-hook.ts", import.meta.url).href}`,
      ...(profileDirectory === undefined
        ? []
        : ["--cpu-prof", `--cpu-prof-dir=${profileDirectory}`, `--cpu-prof-name=${name}.cpuprofile`]),
    ],
    stdio: ["ignore", log, log, "ipc"],
  });
  closeSync(log);
  processes.track(child);
  await waitFor(`${name} is ready`, readyLimitMs, async () => (await get(at(ports.health, "/readyz"))).code === 200);
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
    pid: child.pid ?? -1,
    pool: openPool(inFlight),
    openPool,
    metrics: async () => new MetricsText((await get(at(ports.metrics, "/metrics"))).text),
    async usage() {
      child.send("usage");
      const [usage] = (await once(child, "message", { signal: AbortSignal.timeout(stopLimitMs) })) as [Usage];
      return usage;
    },
    async stop() {
      await Promise.all(pools.map((pool) => pool.destroy()));
      await stopChild(child);
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

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), stopLimitMs);
  await exited;
  clearTimeout(timer);
}
