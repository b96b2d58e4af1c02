/**
 * The reads of evicted pods, which anyone can cause who reaches the webhook. A worker cluster takes only so many a
 * second (--…-kube-qps), and its client has that limit for itself. So each worker cluster has its share of places, and
 * those who wait for one take turns by where they come from: whoever sends many waits for its own, and an API server at
 * another address gets every second place. With one worker cluster for all cells the places are for all of them, so
 * that the names of other cells give a stranger no more.
 */
import { type KubeClient } from "../../../kube/kube-client.ts";
import { type Clock, type MonotonicMs } from "../../../util/clock.ts";

/** Of one worker cluster. At the default of 200 requests a second, the last of them waits 0.16 s in the client. */
const readsAtOnceMax = 32;

interface Waiting {
  readonly start: (isPlace: boolean) => void;
}

/** The reads of one worker cluster. */
class WorkerReads {
  running = 0;
  /** By address; the first one is next, and then goes to the end. */
  readonly waiting = new Map<string, Set<Waiting>>();

  next(): Waiting | undefined {
    for (const [peer, queue] of this.waiting) {
      const [first] = queue;
      this.waiting.delete(peer);
      if (first === undefined) continue;
      queue.delete(first);
      if (queue.size > 0) this.waiting.set(peer, queue);
      return first;
    }
    return undefined;
  }
}

export class PodReads {
  readonly #clock: Clock;
  /** Worker clusters with reads under way: no more than are configured. */
  readonly #workers = new Map<KubeClient, WorkerReads>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Calls `read` when there is a place. Undefined, without calling it, when there is none before the deadline or the
   * caller leaves. Rejects with what `read` rejects with. `worker`: what `read` asks; `peer`: where the review comes
   * from.
   */
  async run<T>(
    at: {
      readonly worker: KubeClient;
      readonly peer: string;
      readonly deadlineMs: MonotonicMs;
      readonly signal: AbortSignal | undefined;
    },
    read: () => Promise<T>,
  ): Promise<T | undefined> {
    const worker = this.#workers.get(at.worker) ?? new WorkerReads();
    this.#workers.set(at.worker, worker);
    if (worker.running >= readsAtOnceMax && !(await this.#place(worker, at))) return undefined;
    worker.running += 1;
    try {
      return await read();
    } finally {
      worker.running -= 1;
      worker.next()?.start(true);
      if (worker.running === 0 && worker.waiting.size === 0) this.#workers.delete(at.worker);
    }
  }

  #place(
    worker: WorkerReads,
    { peer, deadlineMs, signal }: { peer: string; deadlineMs: MonotonicMs; signal: AbortSignal | undefined },
  ): Promise<boolean> {
    return new Promise((resolve) => {
      const queue = worker.waiting.get(peer) ?? new Set<Waiting>();
      const giveUp = (): void => {
        queue.delete(waiting);
        waiting.start(false);
      };
      const timer = this.#clock.setTimer(Math.max(0, deadlineMs - this.#clock.monotonicMs()), giveUp);
      const waiting: Waiting = {
        start(isPlace) {
          timer.cancel();
          signal?.removeEventListener("abort", giveUp);
          resolve(isPlace);
        },
      };
      queue.add(waiting);
      worker.waiting.set(peer, queue);
      signal?.addEventListener("abort", giveUp, { once: true });
    });
  }
}
