/** The product as production runs it, src/main.ts, in a process of its own that also says what it has used. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { type ProcessSet } from "../../../scripts/child-processes.ts";
import { get } from "../../../scripts/role-process.ts";
import { MetricsText } from "../../e2e/clusters/metrics-text.ts";
import { type PodseidonPorts } from "../../e2e/fleet/process.ts";
import { waitFor } from "../../e2e/clusters/wait.ts";
import type { Usage } from "./child-hook.ts";

export interface ProductProcess {
  readonly pid: number;
  /** Resolves when /readyz answers 200. */
  ready(limitMs: number): Promise<void>;
  metrics(): Promise<MetricsText>;
  usage(): Promise<Usage>;
  stop(): Promise<void>;
}

export interface ProductProcessOptions {
  readonly name: string;
  readonly args: readonly string[];
  readonly ports: PodseidonPorts;
  readonly processes: ProcessSet;
  /** For the log. */
  readonly directory: string;
  /** Where the process leaves a CPU profile when it ends; undefined = it makes none. */
  readonly profileDirectory: string | undefined;
}

const root = fileURLToPath(new URL("../../../", import.meta.url));
const stopLimitMs = 10_000;
const at = (port: number, path: string): string => `http://127.0.0.1:${port}${path}`;

/** Does not wait until it is ready. */
export function startProductProcess(options: ProductProcessOptions): ProductProcess {
  const { name, args, ports, processes, directory, profileDirectory } = options;
  mkdirSync(directory, { recursive: true });
  const log = openSync(path.join(directory, `${name}.log`), "a");
  const child = fork(path.join(root, "src/main.ts"), args, {
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
  return {
    pid: child.pid ?? -1,
    async ready(limitMs) {
      await waitFor(`${name} is ready`, limitMs, async () => (await get(at(ports.health, "/readyz"))).code === 200);
    },
    metrics: async () => new MetricsText((await get(at(ports.metrics, "/metrics"))).text),
    usage: () => usageOf(child),
    stop: () => stopChild(child),
  };
}

/** Of a child that has loaded child-hook.ts. */
export async function usageOf(child: ChildProcess): Promise<Usage> {
  child.send("usage");
  const [usage] = (await once(child, "message", { signal: AbortSignal.timeout(stopLimitMs) })) as [Usage];
  return usage;
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), stopLimitMs);
  await exited;
  clearTimeout(timer);
}
