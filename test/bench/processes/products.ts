/** The product as production runs it, src/main.ts, in processes of its own that also say what they have used. */
import { type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { ProcessSet } from "../../../scripts/child-processes.ts";
import { get } from "../../../scripts/role-process.ts";
import { MetricsText } from "../../e2e/clusters/metrics-text.ts";
import { choosePorts, listenerArgs, type PodseidonPorts } from "../../e2e/fleet/process.ts";
import { waitFor } from "../../e2e/clusters/wait.ts";
import { ask, startChild } from "./child.ts";
import type { Usage } from "./child-hook.ts";

export interface ProductProcess {
  readonly pid: number;
  readonly ports: PodseidonPorts;
  /** Resolves when /readyz answers 200. */
  ready(limitMs: number): Promise<void>;
  metrics(): Promise<MetricsText>;
  usage(): Promise<Usage>;
  stop(): Promise<void>;
}

const main = new URL("../../../src/main.ts", import.meta.url);
/** A child that is started with these answers `usageOf`. */
export const usageArgs = ["--expose-gc", `--import=${new URL("child-hook.ts", import.meta.url).href}`];
/** With PROFILE=1 each process leaves a CPU profile here when it ends. */
const profiles = fileURLToPath(new URL("../../../test-results", import.meta.url));
const stopLimitMs = 10_000;
const at = (port: number, path: string): string => `http://127.0.0.1:${port}${path}`;

/** Those of one measurement: they end with it, and so do the other processes of the set. */
export class Products {
  readonly processes = new ProcessSet();
  /** For logs, and whatever else is gone afterwards. */
  readonly directory = mkdtempSync(path.join(os.tmpdir(), "podseidon-bench-"));

  constructor() {
    process.once("exit", () => this.processes.killAll());
  }

  /** Does not wait until it is ready. `name`: of its log, and of a profile. */
  async start(
    name: string,
    argsOf: (ports: PodseidonPorts) => readonly string[],
    tls?: Parameters<typeof listenerArgs>[1],
  ): Promise<ProductProcess> {
    const ports = await choosePorts();
    const profileArgs = ["--cpu-prof", `--cpu-prof-dir=${profiles}`, `--cpu-prof-name=${name}.cpuprofile`];
    const log = openSync(path.join(this.directory, `${name}.log`), "a");
    const child = startChild(main, [...argsOf(ports), ...listenerArgs(ports, tls)], {
      execArgv: [...usageArgs, ...(process.env["PROFILE"] === "1" ? profileArgs : [])],
      stdio: ["ignore", log, log, "ipc"],
    });
    closeSync(log);
    this.processes.track(child);
    return {
      pid: child.pid ?? -1,
      ports,
      async ready(limitMs) {
        await waitFor(`${name} is ready`, limitMs, async () => (await get(at(ports.health, "/readyz"))).code === 200);
      },
      metrics: async () => new MetricsText((await get(at(ports.metrics, "/metrics"))).text),
      usage: () => usageOf(child),
      stop: () => stopChild(child),
    };
  }

  async end(): Promise<void> {
    await this.processes.end();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** Of a child that was started with `usageArgs`. */
export function usageOf(child: ChildProcess): Promise<Usage> {
  return ask(child, "usage", stopLimitMs);
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), stopLimitMs);
  await exited;
  clearTimeout(timer);
}
