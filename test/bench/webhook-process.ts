/**
 * A webhook as production runs it, src/main.ts with the flags at their defaults, in a process of its own over a real
 * core.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Pool, request } from "undici";
import { type ProcessSet } from "../e2e/child-processes.ts";
import { MetricsText } from "../e2e/metrics-text.ts";
import { freePorts } from "../e2e/ports.ts";
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

export async function startWebhookProcess(options: WebhookProcessOptions): Promise<WebhookProcess> {
  const { name, kubeconfig, tls, inFlight, processes, directory, profileDirectory } = options;
  const [port = 0, health = 0, metrics = 0] = await freePorts(3);
  mkdirSync(directory, { recursive: true });
  const log = openSync(path.join(directory, `${name}.log`), "a");
  const child = fork(path.join(root, "src/main.ts"), argsOf({ kubeconfig, tls, port, health, metrics }), {
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
  await waitFor(`${name} is ready`, readyLimitMs, async () => (await get(health, "/readyz")).code === 200);
  const pools: Pool[] = [];
  const openPool = (connections: number): Pool => {
    const origin = `${tls === undefined ? "http" : "https"}://localhost:${port}`;
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
    metrics: async () => new MetricsText((await get(metrics, "/metrics")).text),
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

function argsOf(options: {
  readonly kubeconfig: string;
  readonly tls: WebhookProcessOptions["tls"];
  readonly port: number;
  readonly health: number;
  readonly metrics: number;
}): string[] {
  const { kubeconfig, tls, port, health, metrics } = options;
  const listener =
    tls === undefined
      ? ["--webhook-bind-addr=127.0.0.1", `--webhook-port=${port}`]
      : [
          "--webhook-enable=false",
          "--webhook-https-enable=true",
          "--webhook-https-bind-addr=127.0.0.1",
          `--webhook-https-port=${port}`,
          `--webhook-https-cert-file=${tls.certFile}`,
          `--webhook-https-key-file=${tls.keyFile}`,
        ];
  return [
    "--role=webhook",
    `--core-kube-config=${kubeconfig}`,
    "--healthz-bind-addr=127.0.0.1",
    `--healthz-port=${health}`,
    "--prometheus-http-bind-addr=127.0.0.1",
    `--prometheus-http-port=${metrics}`,
    "--webhook-drain-delay=0s",
    ...listener,
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

async function get(port: number, at: string): Promise<{ readonly code: number; readonly text: string }> {
  const { statusCode, body } = await request(`http://127.0.0.1:${port}${at}`);
  return { code: statusCode, text: await body.text() };
}
