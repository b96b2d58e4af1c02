/** Worker threads that run one task each at a time. A worker that dies or hangs costs its run only: it is replaced. */
import os from "node:os";
import { Worker } from "node:worker_threads";
import { type RunOutcome, type RunTask, lostOutcome } from "./task.ts";

/**
 * Of the processor's time, whatever else the machine does. A run takes seconds, and that of a large fleet, all of which
 * is deleted, two minutes beside other work; so this is a hang.
 */
const runSecondsMax = 600;
/** Of real time, for a run that waits and does nothing. */
const idleMsMax = 3_600_000;
const checkEveryMs = 5_000;

interface Job {
  readonly task: RunTask;
  readonly settle: (outcome: RunOutcome) => void;
}

export class RunPool {
  readonly size: number;
  readonly #lanes = new Set<Lane>();
  readonly #waiting: Job[] = [];
  #isStopped = false;

  /** Default: one worker for each core. */
  constructor(size: number = os.availableParallelism()) {
    this.size = size;
  }

  /**
   * Runs the task as soon as a worker is free. Never rejects: a dead worker is a finding. After `stop` it never
   * settles.
   */
  run(task: RunTask): Promise<RunOutcome> {
    return new Promise((settle) => {
      this.#waiting.push({ task, settle });
      this.#next();
    });
  }

  /**
   * Runs tasks on all workers until there are none left, or until `onOutcome` says false. Outcomes come as they are
   * ready.
   */
  async runAll(tasks: Iterable<RunTask>, onOutcome: (outcome: RunOutcome) => boolean): Promise<void> {
    const iterator = tasks[Symbol.iterator]();
    let goesOn = true;
    const takeTurns = async (): Promise<void> => {
      while (goesOn) {
        const next = iterator.next();
        if (next.done === true) return;
        const outcome = await this.run(next.value);
        if (goesOn) goesOn = onOutcome(outcome);
      }
    };
    await Promise.all(Array.from({ length: this.size }, takeTurns));
  }

  /** Ends all workers at once. */
  stop(): void {
    this.#isStopped = true;
    for (const lane of this.#lanes) lane.stop();
  }

  #next(): void {
    if (this.#isStopped || this.#waiting.length === 0) return;
    const lane = [...this.#lanes].find(({ isIdle }) => isIdle) ?? this.#grow();
    const job = lane === undefined ? undefined : this.#waiting.shift();
    if (job !== undefined) lane?.begin(job);
  }

  #grow(): Lane | undefined {
    if (this.#lanes.size >= this.size) return undefined;
    const lane = new Lane((isAlive) => {
      if (!isAlive) this.#lanes.delete(lane);
      this.#next();
    });
    this.#lanes.add(lane);
    return lane;
  }
}

/** One worker and what it is at. */
class Lane {
  readonly #worker = new Worker(new URL("./run-worker.ts", import.meta.url));
  readonly #onFree: (isAlive: boolean) => void;
  #job: Job | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** By the worker, at the first look at its present run. */
  #usedBefore: number | undefined;

  constructor(onFree: (isAlive: boolean) => void) {
    this.#onFree = onFree;
    this.#worker.on("message", (outcome: RunOutcome) => this.#end(outcome, true));
    this.#worker.on("error", (error) => this.#lose(`the worker crashed: ${String(error)}`));
    this.#worker.on("exit", (code) => {
      this.#lose(`the worker ended with ${code}`);
      this.#onFree(false);
    });
  }

  get isIdle(): boolean {
    return this.#job === undefined;
  }

  begin(job: Job): void {
    this.#job = job;
    this.#usedBefore = undefined;
    const startMs = performance.now();
    this.#timer = setInterval(() => void this.#check(job, startMs), checkEveryMs);
    this.#worker.postMessage(job.task, []);
  }

  async #check(job: Job, startMs: number): Promise<void> {
    // A worker that has just ended has no usage; its exit is heard of.
    const usage = await this.#worker.cpuUsage().catch(() => undefined);
    if (this.#job !== job) return;
    if (performance.now() - startMs > idleMsMax) return this.#lose(`no end in ${idleMsMax / 60_000} minutes`);
    if (usage === undefined) return;
    const usedSeconds = (usage.user + usage.system) / 1e6;
    this.#usedBefore ??= usedSeconds;
    if (usedSeconds - this.#usedBefore > runSecondsMax)
      this.#lose(`no end in ${runSecondsMax} s of the processor's time`);
  }

  stop(): void {
    this.#job = undefined;
    clearInterval(this.#timer);
    void this.#worker.terminate();
  }

  #lose(why: string): void {
    const job = this.#job;
    if (job === undefined) return;
    void this.#worker.terminate();
    this.#end(lostOutcome(job.task, why), false);
  }

  #end(outcome: RunOutcome, isAlive: boolean): void {
    const job = this.#job;
    this.#job = undefined;
    clearInterval(this.#timer);
    job?.settle(outcome);
    this.#onFree(isAlive);
  }
}
