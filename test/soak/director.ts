/** Makes happen what is scheduled. */
import { setTimeout as delay } from "node:timers/promises";
import { type Cluster } from "./cluster.ts";
import { leaseOf, type Product } from "./product.ts";
import { type ElectedName, type Happening, type Scheduled, sickWorker } from "./schedule.ts";
import { guarded, unsteadyReplicas, visitorName } from "./workloads.ts";

/** A leader renews every two seconds, and so learns within that time that another has the Lease. */
const heldMs = 5_000;
/** A workload leaves the workers when its PodProtector has gone from the core; a refused deletion is tried again. */
const releaseMs = 2_000;

export class Director {
  readonly #clusters: readonly Cluster[];
  readonly #product: Product;
  readonly #running = new Set<Promise<void>>();
  readonly #problems: Error[] = [];
  /** How often each kind of thing was done. */
  readonly done: Record<string, number> = {};

  constructor(clusters: readonly Cluster[], product: Product) {
    this.#clusters = clusters;
    this.#product = product;
  }

  /** Does all of it in time; rejects with the first thing that could not be done, when the others are. */
  async direct(schedule: readonly Scheduled[]): Promise<void> {
    const startMs = performance.now();
    for (const happening of schedule) {
      const waitMs = startMs + happening.atSeconds * 1000 - performance.now();
      if (waitMs > 0) await delay(waitMs);
      this.#begin(happening);
    }
    await Promise.all(this.#running);
    const [first] = this.#problems;
    if (first !== undefined) throw first;
  }

  /** One thing may take longer than the time until the next. */
  #begin(happening: Happening): void {
    this.done[happening.do] = (this.done[happening.do] ?? 0) + 1;
    const running = this.#carryOut(happening)
      .catch((error: unknown) => {
        this.#problems.push(new Error(`${JSON.stringify(happening)} went wrong: ${String(error)}`, { cause: error }));
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #carryOut(happening: Happening): Promise<void> {
    switch (happening.do) {
      case "roll": {
        const { turn } = happening;
        const service = guarded[turn % guarded.length]!;
        return await this.#everywhere((cluster) => cluster.order({ do: "roll", service, turn: turn + 1 }));
      }
      case "scale": {
        const perWorker = unsteadyReplicas(happening.turn);
        return await this.#everywhere((cluster) => cluster.order({ do: "scale", perWorker }));
      }
      case "visit":
        return await this.#everywhere((cluster) => cluster.order({ do: "come", service: visitorName(happening.turn) }));
      case "leave":
        return await this.#leave(visitorName(happening.turn));
      case "disconnect":
        return await this.#cluster(happening.cluster).order(happening);
      case "takeLease":
        return await this.#takeLease(happening.elected);
      case "endLeader":
        return await this.#endLeader(happening.elected);
      case "sicken":
        return await this.#cluster(sickWorker).order(happening);
    }
  }

  async #leave(service: string): Promise<void> {
    await this.#cluster("core").order({ do: "leave", service });
    await delay(releaseMs);
    for (const cluster of this.#clusters) if (cluster.name !== "core") await cluster.order({ do: "leave", service });
  }

  async #takeLease(elected: ElectedName): Promise<void> {
    const { cluster, lease } = leaseOf(elected);
    await this.#cluster(cluster).order({ do: "hold", lease, holder: "a-stranger" });
    await delay(heldMs);
    await this.#cluster(cluster).order({ do: "hold", lease, holder: "" });
  }

  async #endLeader(elected: ElectedName): Promise<void> {
    const leader = await this.#product.leader(elected);
    // Nobody leads while the worker is sick.
    if (leader !== undefined) await this.#product.restart(leader);
  }

  #cluster(name: string): Cluster {
    const found = this.#clusters.find((cluster) => cluster.name === name);
    if (found === undefined) throw new Error(`there is no cluster ${name}`);
    return found;
  }

  async #everywhere(order: (cluster: Cluster) => Promise<void>): Promise<void> {
    await Promise.all(this.#clusters.map(order));
  }
}
