/**
 * What a test file may not leave behind for those that run after it in the same process: timers, sockets, servers,
 * processes and workers, variables of the environment, listeners of the process, an exit code, another working
 * directory. A timer that does not keep the process alive is none.
 */
import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";
import { type Worker } from "node:worker_threads";

const pollMs = 5;

/** Names with how many there are. */
type Counts = ReadonlyMap<string, number>;

function counted(names: Iterable<string>): Counts {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

/** Those of which there are more than before, with how many more. */
function grown(before: Counts, now: Counts): string[] {
  return [...now]
    .map(([name, count]) => ({ name, more: count - (before.get(name) ?? 0) }))
    .filter(({ more }) => more > 0)
    .map(({ name, more }) => (more === 1 ? name : `${name} (${more})`));
}

const workers = new Set<Worker>();
process.on("worker", (worker: Worker) => {
  workers.add(worker);
  worker.once("exit", () => workers.delete(worker));
});

/** What keeps the process alive. Files are read and closed by Node itself, now and then. */
const resources = (): Counts =>
  counted([
    ...process.getActiveResourcesInfo().filter((name) => !/^(FSReq|Immediate|Close)/.test(name)),
    ...Array.from(workers, () => "Worker"),
  ]);

/** Without those for the very end, which disturb no other file: libraries have some, from when they are loaded. */
const listeners = (): Counts => {
  const names = process.eventNames().filter((name) => name !== "exit");
  return new Map(names.map((name) => [String(name), process.listenerCount(name as string)]));
};

/** Begins before the file is loaded. */
export class Guard {
  readonly #env = { ...process.env };
  readonly #cwd = process.cwd();
  readonly #exitCode = process.exitCode;
  readonly #listeners = listeners();
  readonly #resources = resources();

  /**
   * One line for each thing that was left. What can be put back is put back, so that the next file does not suffer.
   * What is closed may take a moment to be gone, so it is waited for. Only a file that fails waits for `patienceMs`.
   */
  async leftovers(patienceMs: number): Promise<string[]> {
    // A worker that has just been created is not known yet.
    await turn();
    // First, since what is still open may yet fail, which sets the exit code.
    const open = await this.#open(patienceMs);
    return [
      ...this.#environment(),
      ...this.#ofProcess(),
      ...grown(this.#listeners, listeners()).map((name) => `a listener of process: ${name}`),
      ...open.map((name) => `open: ${name}`),
    ];
  }

  #environment(): string[] {
    const now = process.env;
    const changed = [...new Set([...Object.keys(this.#env), ...Object.keys(now)])].filter(
      (name) => now[name] !== this.#env[name],
    );
    for (const name of changed) {
      if (this.#env[name] === undefined) delete now[name];
      else now[name] = this.#env[name];
    }
    return changed.map((name) => `the environment variable ${name}`);
  }

  #ofProcess(): string[] {
    const left: string[] = [];
    if (process.exitCode !== this.#exitCode) left.push(`the exit code ${process.exitCode}`);
    if (process.cwd() !== this.#cwd) left.push(`the working directory ${process.cwd()}`);
    process.exitCode = this.#exitCode;
    process.chdir(this.#cwd);
    return left;
  }

  async #open(patienceMs: number): Promise<string[]> {
    for (let waitedMs = 0; ; waitedMs += pollMs) {
      const left = grown(this.#resources, resources());
      if (left.length === 0 || waitedMs >= patienceMs) return left;
      await sleep(pollMs);
    }
  }
}
