/**
 * The reads of evicted pods, which anyone can cause who reaches the webhook. A worker cluster takes only so many a
 * second (--…-kube-qps), so each cell has its share of places, and those who wait for one take turns by where they come
 * from: whoever sends many waits for its own, and an API server at another address gets every second place.
 */
import { type Clock, type MonotonicMs } from "../../util/clock.ts";

/** Of one cell. At the default of 200 requests a second, the last of them waits 0.16 s in the client. */
const readsAtOnceMax = 32;

interface Waiting {
  readonly start: (isPlace: boolean) => void;
}

/** The reads of one cell. */
class CellReads {
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
  /** Cells with reads under way: no more than there are reviews. */
  readonly #cells = new Map<string, CellReads>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Calls `read` when there is a place. Undefined, without calling it, when there is none before the deadline or the
   * caller leaves. Rejects with what `read` rejects with. `peer`: where the review comes from.
   */
  async run<T>(
    at: {
      readonly cellID: string;
      readonly peer: string;
      readonly deadlineMs: MonotonicMs;
      readonly signal: AbortSignal | undefined;
    },
    read: () => Promise<T>,
  ): Promise<T | undefined> {
    const cell = this.#cells.get(at.cellID) ?? new CellReads();
    this.#cells.set(at.cellID, cell);
    if (cell.running >= readsAtOnceMax && !(await this.#place(cell, at))) return undefined;
    cell.running += 1;
    try {
      return await read();
    } finally {
      cell.running -= 1;
      cell.next()?.start(true);
      if (cell.running === 0 && cell.waiting.size === 0) this.#cells.delete(at.cellID);
    }
  }

  #place(
    cell: CellReads,
    { peer, deadlineMs, signal }: { peer: string; deadlineMs: MonotonicMs; signal: AbortSignal | undefined },
  ): Promise<boolean> {
    return new Promise((resolve) => {
      const queue = cell.waiting.get(peer) ?? new Set<Waiting>();
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
      cell.waiting.set(peer, queue);
      signal?.addEventListener("abort", giveUp, { once: true });
    });
  }
}
