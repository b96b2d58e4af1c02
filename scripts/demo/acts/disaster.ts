/**
 * Acts 3 and 4: the owners of all pods are erased from storage, so nothing creates pods any more, and a runaway
 * controller deletes every pod of every worker, wave after wave, and again and again while it is refused. The same code
 * runs with Podseidon and without.
 */
import { sleep } from "../../../src/util/clock.ts";
import { type Engine, isApiError, builtInResources as types } from "../../../test/double/index.ts";
import { namespace } from "../scenario.ts";
import { type Deletions } from "../statistics.ts";
import { type Cell } from "../world/clusters.ts";
import { serviceLabel } from "../world/pod-census.ts";
import { type Stage, waitUntil } from "./wait.ts";

const runaway = {
  username: "system:serviceaccount:kube-system:runaway-controller",
  groups: ["system:serviceaccounts", "system:authenticated"],
};
// First retry and longest wait of the runaway controller; impatient, as a real one is at first.
const retryBaseMs = 100;
const retryMaxMs = 1000;
// All at once is over in two seconds, which nobody can follow. The waves grow, so that the floors, where a quarter of
// the pods is gone, are reached half way.
export const waves = 8;
const wavePeriodMs = 1400;

/** In which wave, from 1, the pod at `index` of `count` is asked for: wave n has all below the share (n / waves)². */
export function waveOf(index: number, count: number): number {
  return Math.ceil(waves * Math.sqrt((index + 1) / count));
}

/** Erases all Deployments and ReplicaSets, as lost storage does: nobody asks, nobody confirms. */
export function eraseOwners(engines: readonly Engine[]): void {
  for (const engine of engines) {
    engine.wipe(types.deployments);
    engine.wipe(types.replicaSets);
  }
}

interface Counts {
  tried: number;
  admitted: number;
  refused: number;
  unanswered: number;
}

/** A pod and when it is asked for. */
interface Target {
  readonly engine: Engine;
  readonly pod: string;
  readonly counts: Counts;
  readonly wave: number;
}

export class Runaway {
  readonly #stage: Stage;
  readonly #onAdmitted: () => void;
  readonly #counts = new Map<string, Counts>();
  readonly #stop = new AbortController();
  readonly #work: Promise<void>[] = [];
  /** When the last deletion was admitted, or the last pod was asked for. */
  #lastMoveMs = 0;
  #wave = 0;
  #lastRefusal: string | undefined;

  /** `onAdmitted` is called after each admitted deletion. */
  constructor(stage: Stage, onAdmitted: () => void) {
    this.#stage = stage;
    this.#onAdmitted = onAdmitted;
  }

  deletionsOf(service: string): Deletions {
    return this.#counts.get(service) ?? { tried: 0, admitted: 0, refused: 0, unanswered: 0 };
  }

  /** What the last refused request was told; undefined = none was refused. */
  get lastRefusal(): string | undefined {
    return this.#lastRefusal;
  }

  /** The wave that was sent last, from 1; 0 = none yet. */
  get wave(): number {
    return this.#wave;
  }

  /** Milliseconds since all pods have been asked for and no deletion has been admitted; 0 before. */
  quietMs(): number {
    return this.#wave < waves ? 0 : this.#stage.clock.monotonicMs() - this.#lastMoveMs;
  }

  /** Sends a DELETE for every pod, in waves: those of a wave at the same moment in all cells. */
  start(cells: readonly Cell[]): void {
    const targets = cells.flatMap(({ server }) => {
      const { items } = server.engine.list(types.pods, namespace);
      // UIDs are random, so the services go down together, and not one after the other.
      const shuffled = [...items].sort((a, b) => (a.metadata.uid < b.metadata.uid ? -1 : 1));
      return shuffled.map(({ metadata }, index) => ({
        engine: server.engine,
        pod: metadata.name,
        counts: this.#countsOf(metadata.labels?.[serviceLabel] ?? ""),
        wave: waveOf(index, items.length),
      }));
    });
    this.#work.push(this.#sendWaves(targets));
  }

  /** Ends the retries; resolves when no request is under way. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#work);
  }

  #countsOf(service: string): Counts {
    const counts = this.#counts.get(service) ?? { tried: 0, admitted: 0, refused: 0, unanswered: 0 };
    this.#counts.set(service, counts);
    return counts;
  }

  async #sendWaves(targets: readonly Target[]): Promise<void> {
    while (this.#wave < waves && !this.#stop.signal.aborted) {
      this.#wave += 1;
      this.#lastMoveMs = this.#stage.clock.monotonicMs();
      for (const { engine, pod, counts, wave } of targets) {
        if (wave === this.#wave) this.#work.push(this.#delete(engine, pod, counts));
      }
      await sleep(this.#stage.clock, wavePeriodMs, this.#stop.signal);
    }
  }

  async #delete(engine: Engine, pod: string, counts: Counts): Promise<void> {
    const { clock } = this.#stage;
    for (let waitMs = retryBaseMs; !this.#stop.signal.aborted; waitMs = Math.min(2 * waitMs, retryMaxMs)) {
      counts.tried += 1;
      try {
        await engine.delete(types.pods, namespace, pod, {}, { caller: runaway });
        counts.admitted += 1;
        this.#lastMoveMs = clock.monotonicMs();
        this.#onAdmitted();
        return;
      } catch (error) {
        if (!isApiError(error)) throw error;
        if (error.status.code === 429) {
          counts.refused += 1;
          this.#lastRefusal = error.status.message;
        } else counts.unanswered += 1;
      }
      await sleep(clock, waitMs, this.#stop.signal);
    }
  }
}

/** Resolves to true when nothing has been admitted for `quietMs`, and to false after `limitMs`. */
export async function untilQuiet(stage: Stage, runaway: Runaway, quietMs: number, limitMs: number): Promise<boolean> {
  return await waitUntil(stage, limitMs, () => runaway.quietMs() >= quietMs);
}
