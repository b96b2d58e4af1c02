/** The work queue of a controller: one run at a time per key, a few keys at once, backoff per key after a refusal. */
import { type Clock, type Timer } from "../../../src/util/clock.ts";
import { isApiError } from "../engine/status.ts";

export interface KeyedQueueOptions {
  readonly clock: Clock;
  /** Longest backoff; the real controllers go up to 1 000 s. */
  readonly backoffMaxMs: number;
  /** Brings one key to its wanted state. May throw ApiError: it is run again after 5 ms, doubling. */
  readonly process: (key: string) => Promise<void>;
}

// As the real controllers: five workers, first retry after 5 ms.
const workersMax = 5;
const backoffBaseMs = 5;

export class KeyedQueue {
  readonly #options: KeyedQueueOptions;
  readonly #waiting = new Set<string>();
  readonly #running = new Set<string>();
  readonly #timers = new Map<string, Timer>();
  readonly #failures = new Map<string, number>();
  #wakeUp: Timer | undefined;
  #stopped = false;

  constructor(options: KeyedQueueOptions) {
    this.#options = options;
  }

  /** Runs the key as soon as possible; at most once more when it is running. */
  add(key: string): void {
    if (this.#stopped) return;
    this.#waiting.add(key);
    this.#wakeUp ??= this.#options.clock.setTimer(0, () => {
      this.#wakeUp = undefined;
      this.#fill();
    });
  }

  /** Runs the key after `delayMs`, in place of an earlier appointment of the key. */
  addAfter(key: string, delayMs: number): void {
    if (this.#stopped) return;
    this.#timers.get(key)?.cancel();
    const timer = this.#options.clock.setTimer(delayMs, () => {
      this.#timers.delete(key);
      this.add(key);
    });
    this.#timers.set(key, timer);
  }

  /** Forgets everything; what is running finishes by itself. */
  stop(): void {
    this.#stopped = true;
    this.#wakeUp?.cancel();
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
    this.#waiting.clear();
  }

  #fill(): void {
    for (const key of this.#waiting) {
      if (this.#running.size >= workersMax) return;
      if (this.#running.has(key)) continue;
      this.#waiting.delete(key);
      this.#running.add(key);
      void this.#run(key);
    }
  }

  async #run(key: string): Promise<void> {
    try {
      await this.#options.process(key);
      this.#failures.delete(key);
    } catch (error) {
      if (!isApiError(error)) throw error;
      const failures = (this.#failures.get(key) ?? 0) + 1;
      this.#failures.set(key, failures);
      this.addAfter(key, Math.min(this.#options.backoffMaxMs, backoffBaseMs * 2 ** (failures - 1)));
    } finally {
      this.#running.delete(key);
      if (!this.#stopped) this.#fill();
    }
  }
}
