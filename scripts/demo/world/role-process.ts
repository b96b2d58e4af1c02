/**
 * A role of the demo: the program from its sources, on ports that the system chooses, so that no two runs can meet. The
 * audience is told when it ends without being asked to.
 */
import { fileURLToPath } from "node:url";
import { type ProcessSet } from "../../child-processes.ts";
import { RoleProcess } from "../../role-process.ts";

export type RoleState = "starting" | "ready" | "gone";

export interface RoleOptions {
  readonly processes: ProcessSet;
  readonly name: string;
  readonly args: readonly string[];
  /** For the log file. */
  readonly directory: string;
  /** It ended, and nobody here had asked for it. `report` is the exit and the last log lines. */
  readonly onCrash: (report: string, name: string) => void;
}

const program = fileURLToPath(new URL("../../../src/main.ts", import.meta.url));
// Seven processes start together. That takes 3 s on two idle cores, and has taken 45 s on two that others used as well.
const readyLimitMs = 120_000;
// A webhook goes on serving for some seconds, for load balancers that still know it. Here nobody does, and nobody wants
// to wait.
const stopGraceMs = 1000;
const common = ["--healthz-bind-addr=127.0.0.1", "--healthz-port=0", "--prometheus-http-enable=false"];

export class DemoRole {
  readonly #role: RoleProcess;
  #isReady = false;
  #expectsExit = false;

  /** Starts it. */
  constructor({ processes, name, args, directory, onCrash }: RoleOptions) {
    const command = process.execPath;
    this.#role = new RoleProcess({ processes, name, command, args: [program, ...args, ...common], directory });
    void this.#role.process.exited.then(
      ({ code, signal }) => {
        if (!this.#expectsExit) onCrash(this.#role.report(`ended with ${signal ?? `exit code ${code}`}`), name);
      },
      (error: unknown) => onCrash(String(error), name),
    );
  }

  /** `webhook-1` */
  get name(): string {
    return this.#role.name;
  }

  get pid(): number {
    return this.#role.pid;
  }

  get logFile(): string {
    return this.#role.process.logFile;
  }

  get state(): RoleState {
    if (this.#role.isGone) return "gone";
    return this.#isReady ? "ready" : "starting";
  }

  /**
   * Resolves when /readyz answers 200; rejects with the last log lines when the process ends before, or is too slow.
   */
  async ready(signal: AbortSignal): Promise<void> {
    await this.#role.waitReady({ limitMs: readyLimitMs, signal });
    this.#isReady = true;
  }

  /** The port of a listener; undefined when the process is not ready, or has gone. */
  listeningPort(listener: string): number | undefined {
    return this.state === "ready" ? this.#role.port(listener) : undefined;
  }

  /** kill -9 by pid, on purpose. Resolves when the process has gone. */
  async kill(): Promise<void> {
    this.#expectsExit = true;
    await this.#role.kill();
  }

  /** SIGTERM, then SIGKILL when it takes too long. Resolves when the process has gone. */
  async stop(): Promise<void> {
    this.#expectsExit = true;
    await this.#role.stop(stopGraceMs);
  }

  /** Kills at once; for exit handlers. */
  killNow(): void {
    this.#expectsExit = true;
    this.#role.process.signal("SIGKILL");
  }
}
