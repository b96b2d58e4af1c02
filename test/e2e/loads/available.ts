/** The pods of a workload over all clusters, and the lowest number of them that was ever serving. */
import { type Fleet } from "../fleet/fleet.ts";
import { isServing } from "../objects/pods.ts";
import { PodWatch } from "../objects/pod-watch.ts";
import { type CaseContext } from "../runner/runner.ts";
import { waitFor } from "../clusters/wait.ts";

export class AvailableWatch {
  readonly #serving = new Set<string>();
  readonly #watches: readonly PodWatch[];
  #minimum = Infinity;

  constructor(context: CaseContext, fleet: Pick<Fleet, "workers" | "namespace">, labelSelector: string) {
    this.#watches = fleet.workers.map(
      ({ cell, cluster }) =>
        new PodWatch({
          admin: cluster.admin,
          namespace: fleet.namespace,
          labelSelector,
          onPod: (pod, isGone) => {
            const key = `${cell}/${pod.metadata.uid}`;
            if (!isGone && isServing(pod)) this.#serving.add(key);
            else this.#serving.delete(key);
            this.#minimum = Math.min(this.#minimum, this.#serving.size);
          },
        }),
    );
    context.cleanup(async () => {
      await Promise.all(this.#watches.map((watch) => watch.stop()));
    });
  }

  get serving(): number {
    return this.#serving.size;
  }

  /** The lowest number since `begin`. */
  get minimum(): number {
    return this.#minimum;
  }

  /** Resolves when `count` pods are serving, and counts the minimum from there. */
  async begin(count: number): Promise<void> {
    await waitFor(`${count} pods are serving`, 60_000, () => this.#serving.size === count);
    this.#minimum = this.#serving.size;
  }
}
