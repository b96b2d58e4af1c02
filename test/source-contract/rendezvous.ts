/**
 * Where several that do not know of each other want something stopped: it is stopped once for all of them, when each
 * has asked for that or has left.
 */
export class Rendezvous {
  readonly #stop: () => Promise<void>;
  readonly #start: () => Promise<void>;
  #parties = 0;
  #waiting: { readonly job: () => Promise<void>; readonly settle: (ended: Promise<void>) => void }[] = [];

  /** `stop` and `start`: of what the jobs must not meet. */
  constructor(stop: () => Promise<void>, start: () => Promise<void>) {
    this.#stop = stop;
    this.#start = start;
  }

  /** Plays all of them side by side; rejects when one does. */
  async playAll<T>(parts: readonly T[], play: (part: T) => Promise<void>): Promise<void> {
    this.#parties += parts.length;
    await Promise.all(
      parts.map(async (part) => {
        try {
          await play(part);
        } finally {
          this.#parties -= 1;
          this.#meet();
        }
      }),
    );
  }

  /** Resolves when the job has ended and everything runs again. Only for those whom `playAll` plays. */
  async whileStopped(job: () => Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ job, settle: resolve });
    this.#meet();
    await promise;
  }

  #meet(): void {
    if (this.#waiting.length === 0 || this.#waiting.length < this.#parties) return;
    const met = this.#waiting;
    this.#waiting = [];
    const outcomes = this.#stopFor(met.map(({ job }) => job));
    met.forEach(({ settle }, index) => settle(outcomes.then((all) => fulfilled(all[index]!))));
  }

  async #stopFor(jobs: readonly (() => Promise<void>)[]): Promise<readonly PromiseSettledResult<void>[]> {
    await this.#stop();
    const outcomes = await Promise.allSettled(jobs.map((job) => job()));
    await this.#start();
    return outcomes;
  }
}

function fulfilled(outcome: PromiseSettledResult<void>): void {
  if (outcome.status === "rejected") throw outcome.reason;
}
