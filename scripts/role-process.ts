// A process of Podseidon in one or several roles: started, ready, stopped, killed. The demo and the e2e cases start
// theirs here.
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { request } from "undici";
import { type ManagedProcess, type ProcessExit, type ProcessSet } from "./child-processes.ts";

export interface RoleProcessOptions {
  /** The process ends with this set at the latest. */
  readonly processes: ProcessSet;
  /** Name in messages and of the log file: `webhook-1`. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** For the log file. */
  readonly directory: string;
  /** Added to the environment of the run, from which all PODSEIDON_ variables are taken out. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where /readyz is. Default: the port that the process says in its log, for --healthz-port=0. */
  readonly healthPort?: number;
}

export interface ReadyOptions {
  /** Ends the wait for a process that hangs. */
  readonly limitMs: number;
  readonly signal?: AbortSignal;
}

/** 20 polls a second cost nothing on loopback and add at most 50 ms to a wait. */
const pollIntervalMs = 50;
const probeTimeoutMs = 5_000;
const lastLinesMax = 12;

export class RoleProcess {
  readonly name: string;
  readonly process: ManagedProcess;
  readonly #healthPort: number | undefined;

  /** Starts it. */
  constructor({ processes, name, command, args, directory, env = {}, healthPort }: RoleProcessOptions) {
    this.name = name;
    this.#healthPort = healthPort;
    const inherited = Object.entries(process.env).filter(([variable]) => !variable.startsWith("PODSEIDON_"));
    this.process = processes.start({
      name,
      command,
      args,
      logFile: path.join(directory, `${name}.log`),
      env: { ...Object.fromEntries(inherited), ...env },
    });
  }

  get pid(): number {
    return this.process.pid;
  }

  get isGone(): boolean {
    return this.process.exit() !== undefined;
  }

  /** The port that a listener has chosen, by the log. Throws while it does not listen. */
  port(listener: string): number {
    const port = this.#loggedPort(listener);
    if (port === undefined) throw new Error(this.report(`has no listener ${listener}`));
    return port;
  }

  /** The answer of /readyz: code and text. Rejects when there is none. */
  async readyz(): Promise<{ readonly code: number; readonly text: string }> {
    return get(`http://127.0.0.1:${this.#healthPort ?? this.port("healthz")}/readyz?verbose`);
  }

  /**
   * Resolves when /readyz answers 200. Rejects with the last log lines when the process ends before, when the time is
   * up, or when the signal aborts.
   */
  async waitReady({ limitMs, signal }: ReadyOptions): Promise<void> {
    const deadlineMs = performance.now() + limitMs;
    while (!(await this.#isReady())) {
      signal?.throwIfAborted();
      if (this.isGone) throw new Error(this.report("ended before it was ready"));
      if (performance.now() > deadlineMs) throw new Error(this.report(`is not ready after ${limitMs / 1000} s`));
      await delay(pollIntervalMs);
    }
  }

  /** kill -9. Resolves when it has ended. */
  kill(): Promise<ProcessExit> {
    this.process.signal("SIGKILL");
    return this.process.exited;
  }

  /** SIGTERM, then SIGKILL after `graceMs`. Resolves when it has ended. */
  stop(graceMs: number): Promise<ProcessExit> {
    return this.process.stop(graceMs);
  }

  /** What happened to it, with its last log lines. */
  report(what: string): string {
    const lines = this.process.log().trimEnd().split("\n").slice(-lastLinesMax);
    const log = lines.join("") === "" ? "  (it logged nothing)" : lines.map((line) => `  ${line}`).join("\n");
    return `${this.name} (pid ${this.pid}) ${what}. Its last log lines:\n${log}`;
  }

  async #isReady(): Promise<boolean> {
    if (this.isGone || (this.#healthPort ?? this.#loggedPort("healthz")) === undefined) return false;
    // Not listening yet, or busy: asked again until the deadline.
    return this.readyz().then(
      ({ code }) => code === 200,
      () => false,
    );
  }

  #loggedPort(listener: string): number | undefined {
    for (const line of this.process.log().split("\n")) {
      const found = /"listener":"([^"]+)".*"port":(\d+).*"msg":"[Ll]istening"/.exec(line);
      if (found?.[1] === listener) return Number(found[2]);
    }
    return undefined;
  }
}

/** GET on loopback. Rejects when there is no answer. */
export async function get(url: string): Promise<{ readonly code: number; readonly text: string }> {
  const response = await request(url, { headersTimeout: probeTimeoutMs, bodyTimeout: probeTimeoutMs });
  return { code: response.statusCode, text: await response.body.text() };
}
