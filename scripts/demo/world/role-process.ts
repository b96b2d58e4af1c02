/**
 * One process of the real program. It lets the system choose its ports and says in its log which ones it got, so no two
 * runs can meet. The output is read, not stored: the last lines are kept for the case that something goes wrong.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Clock, sleep } from "../../../src/util/clock.ts";

export type RoleState = "starting" | "ready" | "gone";

export interface RoleProcess {
  /** `webhook-1` */
  readonly name: string;
  readonly pid: number;
  readonly state: RoleState;
  /**
   * Resolves when /readyz answers 200; rejects with the process's last log lines when it ends before, or is too slow.
   */
  ready(signal: AbortSignal): Promise<void>;
  /** The port of a listener, known once ready. */
  port(listener: string): number;
  /** kill -9 by pid, on purpose. Resolves when the process has gone. */
  kill(): Promise<void>;
  /** SIGTERM, then SIGKILL when it takes too long. Resolves when the process has gone. */
  stop(): Promise<void>;
  /** Kills at once; for exit handlers. */
  killNow(): void;
}

export interface RoleOptions {
  readonly name: string;
  readonly args: readonly string[];
  readonly clock: Clock;
  /** It ended, and nobody here had asked for it. `report` is the exit and the last log lines. */
  readonly onCrash: (report: string) => void;
}

const program = fileURLToPath(new URL("../../../src/main.ts", import.meta.url));
// Seven processes start together. That takes 3 s on two idle cores, and has taken 34 s on two that others used as well.
const readyTimeoutMs = 45_000;
const readyPollMs = 100;
const probeTimeoutMs = 1000;
// A webhook goes on serving for some seconds, for load balancers that still know it. Here nobody does, and nobody wants
// to wait.
const stopGraceMs = 1000;
const lastLinesMax = 12;

/** The environment without settings of the user for Podseidon, which would change the demo. */
function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("PODSEIDON_")));
}

class SpawnedRole implements RoleProcess {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #clock: Clock;
  readonly #lines: string[] = [];
  readonly #ports = new Map<string, number>();
  readonly #exited: Promise<unknown>;
  #state: RoleState = "starting";
  #expectsExit = false;

  constructor({ name, args, clock, onCrash }: RoleOptions) {
    this.name = name;
    this.#clock = clock;
    const common = ["--healthz-bind-addr=127.0.0.1", "--healthz-port=0", "--prometheus-http-enable=false"];
    this.#child = spawn(process.execPath, [program, ...args, ...common], {
      env: environment(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const output of [this.#child.stdout!, this.#child.stderr!]) {
      createInterface({ input: output }).on("line", (line) => this.#read(line));
    }
    // "close" comes after the last line of output.
    this.#exited = once(this.#child, "close");
    this.#child.on("close", (code, signal) => {
      this.#state = "gone";
      if (!this.#expectsExit) onCrash(this.#report(`ended with ${signal ?? `exit code ${code}`}`));
    });
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }
  get state(): RoleState {
    return this.#state;
  }

  port(listener: string): number {
    const port = this.#ports.get(listener);
    if (port === undefined) throw new Error(this.#report(`has no listener ${listener}`));
    return port;
  }

  async ready(signal: AbortSignal): Promise<void> {
    const deadlineMs = this.#clock.monotonicMs() + readyTimeoutMs;
    while (!(await this.#isReady())) {
      if (signal.aborted) return;
      if (this.#state === "gone") throw new Error(this.#report("ended before it was ready"));
      if (this.#clock.monotonicMs() > deadlineMs)
        throw new Error(this.#report(`is not ready after ${readyTimeoutMs / 1000} s`));
      await sleep(this.#clock, readyPollMs, signal);
    }
    this.#state = "ready";
  }

  async kill(): Promise<void> {
    this.#expectsExit = true;
    this.#child.kill("SIGKILL");
    await this.#exited;
  }

  async stop(): Promise<void> {
    this.#expectsExit = true;
    if (this.#state === "gone") return;
    this.#child.kill("SIGTERM");
    const timer = this.#clock.setTimer(stopGraceMs, () => this.#child.kill("SIGKILL"));
    await this.#exited;
    timer.cancel();
  }

  killNow(): void {
    this.#expectsExit = true;
    this.#child.kill("SIGKILL");
  }

  async #isReady(): Promise<boolean> {
    const port = this.#ports.get("healthz");
    if (port === undefined || this.#state === "gone") return false;
    try {
      const response = await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(probeTimeoutMs) });
      await response.arrayBuffer();
      return response.ok;
    } catch {
      return false; // not listening yet, or busy: asked again until the deadline
    }
  }

  #read(line: string): void {
    this.#lines.push(line);
    if (this.#lines.length > lastLinesMax) this.#lines.shift();
    const found = /"listener":"([^"]+)".*"port":(\d+).*"msg":"listening"/.exec(line);
    if (found !== null) this.#ports.set(found[1]!, Number(found[2]));
  }

  #report(what: string): string {
    const log = this.#lines.length === 0 ? "  (it logged nothing)" : this.#lines.map((line) => `  ${line}`).join("\n");
    return `${this.name} (pid ${this.pid}) ${what}. Its last log lines:\n${log}`;
  }
}

export function startRole(options: RoleOptions): RoleProcess {
  return new SpawnedRole(options);
}
