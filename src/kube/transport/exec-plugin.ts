/**
 * Runs the exec plugin of a kubeconfig (client authentication API of Kubernetes). client-node's own runner
 * has no limits: the plugin may run without end, wait for input, and print any amount. Nor can it be ended.
 */
import { spawn, type ChildProcess } from "node:child_process";

/** A token and a chain of certificates have some kB. */
const outputLengthMax = 1024 * 1024;

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What is shown to an API server. */
export interface PluginCredential {
  readonly token?: string | undefined;
  /** PEM. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/** Something outside of a kubeconfig that is asked for credentials. It remembers them until they expire. */
export interface CredentialPlugin {
  /** `nowMs` is the wall clock. Rejects with an Error whose message has its reason in the first line. */
  credential(nowMs: number): Promise<PluginCredential>;
  /** Ends the running plugin and all that it has started. Returns its command; undefined when none runs. */
  kill(): string | undefined;
}

/** The `exec` entry of a user, as far as it is used. */
interface ExecEntry {
  readonly apiVersion?: string;
  readonly command?: string;
  readonly args?: readonly string[] | null;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null;
}

/** The status of an ExecCredential. */
interface ExecStatus {
  readonly token?: string;
  readonly clientCertificateData?: string;
  readonly clientKeyData?: string;
  /** RFC 3339; absent or empty = the credential is valid as long as this process runs. */
  readonly expirationTimestamp?: string | null;
}

export class ExecPlugin implements CredentialPlugin {
  readonly #entry: ExecEntry;
  readonly #environment: Environment;
  #running: { readonly command: string; readonly child: ChildProcess } | undefined;
  #status: ExecStatus | undefined;

  /** `entry` is the user's `exec`; the plugin inherits `environment`. */
  constructor(entry: unknown, environment: Environment) {
    this.#entry = entry as ExecEntry;
    this.#environment = environment;
  }

  async credential(nowMs: number): Promise<PluginCredential> {
    if (this.#status === undefined || hasExpired(this.#status, nowMs)) this.#status = await this.#run();
    const { token, clientCertificateData: cert, clientKeyData: key } = this.#status;
    return { token, cert, key };
  }

  kill(): string | undefined {
    if (this.#running !== undefined) killGroup(this.#running.child);
    return this.#running?.command;
  }

  async #run(): Promise<ExecStatus> {
    const { command, args } = this.#entry;
    if (typeof command !== "string" || command === "") throw new Error("the credential plugin has no command");
    // A process group of its own, so that what a wrapper script has started ends with it. Questions on stdin would have
    // no answer.
    const child = spawn(command, args ?? [], {
      env: this.#environmentOfPlugin(),
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#running = { command, child };
    try {
      return await statusPrintedBy(child);
    } catch (error) {
      throw new Error(`the credential plugin "${command}" ${(error as Error).message}`, { cause: error });
    } finally {
      if (this.#running.child === child) this.#running = undefined;
    }
  }

  #environmentOfPlugin(): Environment {
    const { apiVersion = "client.authentication.k8s.io/v1", env } = this.#entry;
    // Plugins of large providers refuse to run without this variable.
    const info = { apiVersion, kind: "ExecCredential", spec: { interactive: false } };
    return {
      ...this.#environment,
      ...Object.fromEntries((env ?? []).map(({ name, value }) => [name, value])),
      KUBERNETES_EXEC_INFO: JSON.stringify(info),
    };
  }
}

function hasExpired({ expirationTimestamp }: ExecStatus, nowMs: number): boolean {
  return Boolean(expirationTimestamp) && !(Date.parse(String(expirationTimestamp)) > nowMs);
}

/** Resolves when `child` has ended well. Rejects with an Error whose message can follow the plugin's name. */
function statusPrintedBy(child: ChildProcess): Promise<ExecStatus> {
  return new Promise((resolve, reject) => {
    const output = { stdout: "", stderr: "" };
    let problem: string | undefined;
    for (const name of ["stdout", "stderr"] as const) {
      child[name]?.setEncoding("utf8").on("data", (chunk: string) => {
        output[name] += chunk;
        if (output[name].length <= outputLengthMax) return;
        problem ??= `printed more than ${outputLengthMax} characters`;
        killGroup(child);
      });
    }
    child.on("error", (error) => (problem ??= `cannot be started: ${error.message}`));
    child.on("close", (code, signal) => {
      if (code !== 0) problem ??= problemOfEnd(code, signal, output.stderr);
      const status = problem === undefined ? statusOf(output.stdout) : undefined;
      if (status === undefined) reject(new Error(problem ?? "printed no ExecCredential with a status"));
      else resolve(status);
    });
  });
}

function problemOfEnd(code: number | null, signal: string | null, stderr: string): string {
  const message = stderr.trim().split("\n", 1)[0] ?? "";
  return `ended with ${signal ?? `exit code ${code}`}${message === "" ? " and no message" : `: ${message}`}`;
}

/** Undefined when `text` is no ExecCredential. It is not repeated in messages: it may hold a secret. */
function statusOf(text: string): ExecStatus | undefined {
  try {
    const { status } = JSON.parse(text) as { readonly status?: unknown };
    return typeof status === "object" && status !== null ? status : undefined;
  } catch {
    return undefined; // neither JSON nor an object
  }
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
