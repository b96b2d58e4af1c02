/**
 * The processes that a run starts. Each is stopped through its own handle, never by name, and killed if it still runs
 * when its case, its cluster or the whole run ends. Output goes straight into a file, so that a crash loses no line.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import path from "node:path";

export interface ProcessSpec {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly logFile: string;
  /** The whole environment; default: that of the run. */
  readonly env?: NodeJS.ProcessEnv;
}

/** How a process ended: exit code or signal. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ManagedProcess {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  /** Undefined while it runs. */
  exit(): ProcessExit | undefined;
  /** Resolves when it has ended. */
  readonly exited: Promise<ProcessExit>;
  /** Sends the signal; does nothing when the process has ended. */
  signal(signal: NodeJS.Signals): void;
  /** SIGTERM, then SIGKILL after `graceMs`. Resolves when it has ended. */
  stop(graceMs: number): Promise<ProcessExit>;
  log(): string;
}

/** A set of processes that end together. Sets nest: the run > a cluster or a case. */
export class ProcessSet {
  readonly #running = new Set<ChildProcess>();
  readonly #started: ManagedProcess[] = [];
  readonly #subsets: ProcessSet[] = [];

  /** A set that also ends when this one does. */
  subset(): ProcessSet {
    const subset = new ProcessSet();
    this.#subsets.push(subset);
    return subset;
  }

  /** Rejects (through `exited`) only when the program cannot be started at all. */
  start(spec: ProcessSpec): ManagedProcess {
    mkdirSync(path.dirname(spec.logFile), { recursive: true });
    const log = openSync(spec.logFile, "a");
    const child = spawn(spec.command, spec.args, { env: spec.env ?? process.env, stdio: ["ignore", log, log] });
    closeSync(log);
    const managed = manage(spec, child);
    this.track(child);
    this.#started.push(managed);
    return managed;
  }

  /** Makes a child that was spawned elsewhere end with the set. */
  track(child: ChildProcess): void {
    this.#running.add(child);
    const forget = (): void => void this.#running.delete(child);
    child.once("exit", forget).once("error", forget);
  }

  /** All processes that `start` has started, those of subsets included, ended ones too. */
  processes(): readonly ManagedProcess[] {
    return [...this.#started, ...this.#subsets.flatMap((subset) => subset.processes())];
  }

  /** Kills at once and synchronously, so that it also works in an exit handler. */
  killAll(): void {
    for (const child of this.#running) child.kill("SIGKILL");
    for (const subset of this.#subsets) subset.killAll();
  }

  /** Kills everything and resolves when all have ended. */
  async end(): Promise<void> {
    this.killAll();
    await Promise.allSettled(this.processes().map((one) => one.exited));
  }
}

function manage(spec: ProcessSpec, child: ChildProcess): ManagedProcess {
  const exit = (): ProcessExit | undefined =>
    child.exitCode === null && child.signalCode === null && child.pid !== undefined
      ? undefined
      : { code: child.exitCode, signal: child.signalCode };
  const exited = new Promise<ProcessExit>((resolve, reject) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
    child.once("error", (cause) => reject(new Error(`${spec.name}: cannot start ${spec.command}`, { cause })));
  });
  // The wait for readiness sees the rejection; there may be none yet.
  exited.catch(() => undefined);
  return {
    name: spec.name,
    pid: child.pid ?? -1,
    logFile: spec.logFile,
    exit,
    exited,
    signal: (signal) => void child.kill(signal),
    async stop(graceMs) {
      child.kill("SIGTERM");
      child.kill("SIGCONT"); // a stopped process would not see SIGTERM
      const timer = setTimeout(() => child.kill("SIGKILL"), graceMs);
      try {
        return await exited;
      } finally {
        clearTimeout(timer);
      }
    },
    log: () => readFileSync(spec.logFile, "utf8"),
  };
}
