/** Runs kubectl against a test cluster or the API double, as a person would. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { type Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { type ProcessSet } from "../../../scripts/child-processes.ts";

export interface KubectlResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** An API server as kubectl needs it: a Cluster is one. */
export interface KubectlTarget {
  /** For kubectl's own files. */
  readonly directory: string;
  kubeconfigPath(user: string): string;
}

export interface KubectlOptions {
  readonly kubectl: string;
  readonly processes: ProcessSet;
  readonly cluster: KubectlTarget;
  /** Default admin. */
  readonly user?: string;
  /** Default two minutes; a kubectl that takes longer is killed and its code is -1. */
  readonly timeoutMs?: number;
  /** Called with all that it has written there until now, after each piece. */
  readonly onStderr?: (soFar: string) => void;
}

/** Starts kubectl with its output as texts; it ends with the set of processes, or after the time limit. */
export function startKubectl(
  options: KubectlOptions,
  ...args: readonly string[]
): ChildProcessByStdio<null, Readable, Readable> {
  const { cluster, user = "admin", timeoutMs = 120_000 } = options;
  const home = path.join(cluster.directory, "kubectl");
  mkdirSync(home, { recursive: true });
  const child = spawn(options.kubectl, [`--kubeconfig=${cluster.kubeconfigPath(user)}`, ...args], {
    // Its discovery cache goes under the cluster's directory, not into the home of the user.
    env: { ...process.env, HOME: home, KUBECACHEDIR: path.join(home, "cache") },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: timeoutMs,
    killSignal: "SIGKILL",
  });
  options.processes.track(child);
  return child;
}

/** Resolves whatever the exit code is. */
export async function kubectl(options: KubectlOptions, ...args: readonly string[]): Promise<KubectlResult> {
  const child = startKubectl(options, ...args);
  const exit = new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? -1));
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (piece: string) => {
    stderr += piece;
    options.onStderr?.(stderr);
  });
  const [code, stdout] = await Promise.all([exit, text(child.stdout)]);
  return { code, stdout, stderr };
}
