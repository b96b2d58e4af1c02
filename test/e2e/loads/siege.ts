/** Somebody who deletes all pods of a workload again and again, whatever is answered: what a disaster looks like. */
import { setTimeout as delay } from "node:timers/promises";
import { type Cluster } from "../clusters/cluster.ts";
import { type DeletionAttempt, type DeletionFigures, deletionFigures, deletePods } from "../objects/deletions.ts";
import { type Fleet } from "../fleet/fleet.ts";
import { isServing, listPods } from "../objects/pods.ts";
import { type CaseContext } from "../runner/runner.ts";

/** A pause between two waves, so that they do not take the machine from everything else. */
const wavePauseMs = 500;
const deletionsInFlight = 32;
/** The last answers: enough to find a refusal to show. */
const keptMax = 5_000;

export class Siege {
  readonly #abort = new AbortController();
  readonly #done: Promise<void>;
  #attempts: DeletionAttempt[] = [];
  #admitted = 0;

  /** Begins at once, in all workers. Ends with the case. */
  constructor(context: CaseContext, fleet: Fleet, labelSelector = "app=web") {
    const clusters = fleet.workers.map(({ cluster }) => cluster);
    this.#done = this.#run(clusters, fleet.namespace, labelSelector);
    context.cleanup(() => this.end());
  }

  /** Deletions that were admitted until now. */
  get admitted(): number {
    return this.#admitted;
  }

  /** The newest refusal that contains `text`. */
  refusal(text: string): DeletionAttempt | undefined {
    return this.#attempts.findLast(({ code, message }) => code === 429 && message.includes(text));
  }

  /** Resolves to what was answered when the last wave has ended. */
  async end(): Promise<DeletionFigures> {
    this.#abort.abort();
    await this.#done;
    return deletionFigures(this.#attempts);
  }

  async #run(clusters: readonly Cluster[], namespace: string, labelSelector: string): Promise<void> {
    while (!this.#abort.signal.aborted) {
      const waves = clusters.map((cluster) => wave(cluster, namespace, labelSelector));
      for (const attempt of (await Promise.all(waves)).flat()) {
        this.#attempts.push(attempt);
        if (attempt.code >= 200 && attempt.code <= 299) this.#admitted++;
      }
      this.#attempts = this.#attempts.slice(-keptMax);
      await delay(wavePauseMs, undefined, { signal: this.#abort.signal }).catch(() => {});
    }
  }
}

/** An API server that is away answers nothing: then there is nothing to delete. */
async function wave({ admin }: Cluster, namespace: string, labelSelector: string): Promise<readonly DeletionAttempt[]> {
  try {
    const pods = await listPods(admin, namespace, labelSelector);
    const names = pods.filter(isServing).map(({ metadata }) => metadata.name);
    return await deletePods(admin, { namespace, names, concurrency: deletionsInFlight, how: "delete" });
  } catch {
    return [];
  }
}
