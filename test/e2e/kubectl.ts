/** Runs kubectl against a test cluster, as a person would. */
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { text } from "node:stream/consumers";
import { type ProcessSet } from "./child-processes.ts";
import { type Cluster } from "./cluster.ts";

export interface KubectlResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface KubectlOptions {
  readonly kubectl: string;
  readonly processes: ProcessSet;
  readonly cluster: Cluster;
  /** Default admin. */
  readonly user?: string;
  /** Default two minutes; a kubectl that takes longer is killed and its code is -1. */
  readonly timeoutMs?: number;
}

/** Resolves whatever the exit code is. */
export async function kubectl(options: KubectlOptions, ...args: readonly string[]): Promise<KubectlResult> {
  const { cluster, user = "admin", timeoutMs = 120_000 } = options;
  const home = path.join(cluster.directory, "kubectl");
  mkdirSync(home, { recursive: true });
  const child = spawn(options.kubectl, [`--kubeconfig=${cluster.kubeconfigPath(user)}`, ...args], {
    // Its discovery cache goes under the cluster's directory, not into the home of whoever runs the tests.
    env: { ...process.env, HOME: home, KUBECACHEDIR: path.join(home, "cache") },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: timeoutMs,
    killSignal: "SIGKILL",
  });
  options.processes.track(child);
  const exit = new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? -1));
  });
  const [code, stdout, stderr] = await Promise.all([exit, text(child.stdout), text(child.stderr)]);
  return { code, stdout, stderr };
}
