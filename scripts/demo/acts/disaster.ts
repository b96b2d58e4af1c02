/**
 * Acts 3 and 4: the owners of all pods are erased from storage, so nothing creates pods any more, and a runaway
 * controller deletes every pod of every worker at once, again and again while it is refused. The same code runs with
 * Podseidon and without.
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

export class Runaway {
  readonly #stage: Stage;
  readonly #onAdmitted: () => void;
  readonly #counts = new Map<string, Counts>();
  readonly #stop = new AbortController();
  readonly #work: Promise<void>[] = [];
  #lastAdmittedMs = 0;
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

  /** Milliseconds since the last deletion was admitted. */
  quietMs(): number {
    return this.#stage.clock.monotonicMs() - this.#lastAdmittedMs;
  }

  /** Sends a DELETE for every pod at the same moment. */
  start(cells: readonly Cell[]): void {
    this.#lastAdmittedMs = this.#stage.clock.monotonicMs();
    for (const { server } of cells) {
      for (const { metadata } of server.engine.list(types.pods, namespace).items) {
        const service = metadata.labels?.[serviceLabel] ?? "";
        const counts = this.#counts.get(service) ?? { tried: 0, admitted: 0, refused: 0, unanswered: 0 };
        this.#counts.set(service, counts);
        this.#work.push(this.#delete(server.engine, metadata.name, counts));
      }
    }
  }

  /** Ends the retries; resolves when no request is under way. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#work);
  }

  async #delete(engine: Engine, pod: string, counts: Counts): Promise<void> {
    const { clock } = this.#stage;
    for (let waitMs = retryBaseMs; !this.#stop.signal.aborted; waitMs = Math.min(2 * waitMs, retryMaxMs)) {
      counts.tried += 1;
      try {
        await engine.delete(types.pods, namespace, pod, {}, { caller: runaway });
        counts.admitted += 1;
        this.#lastAdmittedMs = clock.monotonicMs();
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
