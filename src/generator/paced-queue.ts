/**
 * The generator's queue of one kind of object: a work queue that asks the caches first whether anything is to be done,
 * and that limits how often one object is worked on (pacer.ts). It exists only while this process leads; a new leader
 * begins with all objects.
 */
import { type ObjectKey } from "../api/object-key.ts";
import { type Config } from "../config/config.ts";
import { isKubeError } from "../kube/kube-client.ts";
import { type Clock } from "../util/clock.ts";
import { type Rng } from "../util/rng.ts";
import { createWorkQueue, type Outcome, type WorkQueue } from "../work-queue/index.ts";
import { Pacer } from "./pacer.ts";

/** Nothing is to be done yet: look again after that. */
export interface Later {
  readonly waitMs: number;
}

/** Rejects with a KubeError. */
export type Work = (signal: AbortSignal) => Promise<Later | void>;

export interface PacedQueueOptions {
  readonly config: Config["generator"]["queue"];
  readonly clock: Clock;
  readonly rng: Rng;
  /** What is to be done about an object; undefined when nothing is, as far as the caches know. */
  readonly due: (key: ObjectKey) => Work | Later | undefined;
  /** After each look at an object. */
  readonly onReconcile: (durationMs: number, outcome: Outcome, key: ObjectKey) => void;
  /** Work has failed, other than by a conflict, and will be retried. */
  readonly onFailed: (key: ObjectKey, error: unknown) => void;
}

export class PacedQueue {
  readonly #options: PacedQueueOptions;
  readonly #pacer = new Pacer();
  #queue: WorkQueue<ObjectKey> | undefined;

  constructor(options: PacedQueueOptions) {
    this.#options = options;
  }

  /** Does nothing while the queue does not run. */
  add(key: ObjectKey): void {
    this.#queue?.add(key);
  }

  /** Objects in the queue, including delayed ones; 0 while it does not run. */
  get size(): number {
    return this.#queue?.size ?? 0;
  }

  /** Objects whose turns of the last half minute are remembered. */
  get paced(): number {
    return this.#pacer.size;
  }

  /** Works on `keys` and on what is added, until the signal aborts; resolves when what was begun has ended. */
  async run(keys: Iterable<ObjectKey>, signal: AbortSignal): Promise<void> {
    const { config, clock, rng, onReconcile } = this.#options;
    this.#queue = createWorkQueue<ObjectKey>({
      ...config,
      clock,
      rng,
      process: (key, queueSignal) => this.#process(key, queueSignal),
      observer: { onReconcile },
    });
    for (const key of keys) this.#queue.add(key);
    await this.#queue.run(signal);
    this.#queue = undefined;
  }

  async #process(key: ObjectKey, signal: AbortSignal): Promise<Outcome> {
    const { clock, due, onFailed } = this.#options;
    const work = due(key);
    if (work === undefined) return { kind: "done" };
    if (typeof work !== "function") return { kind: "done", requeueAfterMs: work.waitMs };
    const waitMs = this.#pacer.take(key, clock.monotonicMs());
    if (waitMs > 0) return { kind: "done", requeueAfterMs: waitMs };
    try {
      const rest = await work(signal);
      return rest === undefined ? { kind: "done" } : { kind: "done", requeueAfterMs: rest.waitMs };
    } catch (error) {
      if (isKubeError(error, "conflict")) return { kind: "conflict" };
      if (!signal.aborted) onFailed(key, error);
      return { kind: "failed", error };
    }
  }
}
