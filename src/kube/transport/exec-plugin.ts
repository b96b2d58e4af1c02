/**
 * Runs the exec plugin of a kubeconfig (client authentication API of Kubernetes) for client-node 2.0.1, which would let
 * it run for ever, wait for input, keep all that it prints, and know nothing about a failure but what stands on stderr.
 */
import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { type KubeConfig } from "@kubernetes/client-node/dist/config.js";
import { assert } from "../../util/assert.ts";

/** A token and a chain of certificates have some kB. */
const outputLengthMax = 1024 * 1024;

export interface ExecPlugin {
  /** Ends the running plugin and all that it has started. Returns its command; undefined when none runs. */
  kill(): string | undefined;
}

type Start = (command: string, args: readonly string[] | undefined, options: SpawnOptions) => ChildProcess;

/**
 * From now on `kubeConfig` runs its plugin, one at a time, in this way. What goes wrong is an Error of one line that
 * names the command.
 */
export function superviseExecPlugin(kubeConfig: KubeConfig): ExecPlugin {
  let running: { readonly command: string; readonly child: ChildProcess } | undefined;
  // There is no public way to start the plugin differently or to end it.
  const { authenticators } = kubeConfig as unknown as { readonly authenticators: readonly { execFn?: Start }[] };
  const runner = authenticators.find(({ execFn }) => execFn !== undefined);
  assert(runner !== undefined, "this version of client-node starts exec plugins in another way");
  runner.execFn = (command, args, options) => {
    const child = startPlugin(command, args, options);
    running = { command, child };
    child.on("close", () => {
      if (running?.child === child) running = undefined;
    });
    return child;
  };
  return {
    kill() {
      if (running !== undefined) killGroup(running.child);
      return running?.command;
    },
  };
}

const startPlugin: Start = (command, args = [], options) => {
  // A process group of its own, so that what a wrapper script has started ends with it. Nobody would answer its
  // questions on stdin.
  const child = spawn(command, args, { ...options, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const output = { stdout: "", stderr: "" };
  let problem: string | undefined;
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (chunk: string) => {
      output[name] += chunk;
      if (output[name].length <= outputLengthMax) return;
      problem ??= `printed more than ${outputLengthMax} characters`;
      killGroup(child);
    });
  }
  child.on("error", (error) => (problem ??= `cannot be started: ${error.message}`));
  // Comes before the listener of client-node, which takes the last error.
  child.on("close", (code, signal) => {
    problem ??= code === 0 ? problemOfOutput(output.stdout) : problemOfEnd(code, signal, output.stderr);
    if (problem !== undefined) child.emit("error", new Error(`the credential plugin "${command}" ${problem}`));
  });
  return child;
};

function problemOfEnd(code: number | null, signal: string | null, stderr: string): string {
  const message = stderr.trim().split("\n", 1)[0] ?? "";
  return `ended with ${signal ?? `exit code ${code}`}${message === "" ? " and no message" : `: ${message}`}`;
}

/** client-node reads the fields of the status without looking whether there is one. */
function problemOfOutput(text: string): string | undefined {
  try {
    const { status } = JSON.parse(text) as { readonly status?: unknown };
    if (typeof status === "object" && status !== null) return undefined;
  } catch {
    // Neither JSON nor an object: told below, without the text, which may hold a secret.
  }
  return "printed no ExecCredential with a status";
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch (error) {
    // It has ended by itself.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
  // Something that has left the group may hold the other end.
  child.stdout?.destroy();
  child.stderr?.destroy();
}
