/** The clusters that cases share: each is started once, when a case first asks for it. */
import path from "node:path";
import { type ManagedProcess, type ProcessSet } from "../../../scripts/child-processes.ts";
import { type Cluster, type ClusterEnvironment, type ClusterOptions, startCluster } from "./cluster.ts";

export interface ClusterFigures {
  readonly name: string;
  readonly startMs: number;
  /** Resident memory of all its processes when it was last looked at. */
  readonly memoryBytes: number;
}

export class ClusterPool {
  readonly #definitions: ReadonlyMap<string, ClusterOptions>;
  readonly #environment: ClusterEnvironment;
  readonly #clusters = new Map<string, Promise<Cluster>>();
  readonly #figures = new Map<string, ClusterFigures>();
  #generation = 1;
  #processes: ProcessSet;

  constructor(definitions: readonly ClusterOptions[], environment: ClusterEnvironment) {
    this.#definitions = new Map(definitions.map((one) => [one.name, one]));
    this.#environment = environment;
    this.#processes = environment.processes.subset();
  }

  /** Throws for a name without definition, and when the cluster cannot be started. */
  async cluster(name: string): Promise<Cluster> {
    const known = this.#clusters.get(name);
    if (known !== undefined) return known;
    const definition = this.#definitions.get(name);
    if (definition === undefined) throw new Error(`there is no cluster ${name}`);
    const starting = this.#start(definition);
    this.#clusters.set(name, starting);
    return starting;
  }

  /** Stops all clusters; the next case gets new ones. */
  async discard(): Promise<void> {
    await this.#measure();
    const clusters = await this.#started();
    this.#clusters.clear();
    await Promise.all(clusters.map((cluster) => cluster.stop()));
    await this.#processes.end();
    this.#processes = this.#environment.processes.subset();
    this.#generation++;
  }

  /** Names of clusters whose API server does not answer: a case must leave them as it found them. */
  async unready(): Promise<readonly string[]> {
    const clusters = await this.#started();
    const ready = await Promise.all(clusters.map((cluster) => cluster.isReady()));
    return clusters.filter((_, index) => ready[index] === false).map(({ name }) => name);
  }

  /** Of the clusters that exist now. */
  processes(): readonly ManagedProcess[] {
    return this.#processes.processes();
  }

  figures(): readonly ClusterFigures[] {
    return [...this.#figures.values()];
  }

  async #start(definition: ClusterOptions): Promise<Cluster> {
    const startMs = performance.now();
    const directory = path.join(this.#environment.directory, `clusters-${this.#generation}`);
    const cluster = await startCluster(definition, { ...this.#environment, processes: this.#processes, directory });
    const elapsedMs = Math.round(performance.now() - startMs);
    this.#figures.set(definition.name, {
      name: definition.name,
      startMs: elapsedMs,
      memoryBytes: cluster.memoryBytes(),
    });
    return cluster;
  }

  async #started(): Promise<readonly Cluster[]> {
    const settled = await Promise.allSettled(this.#clusters.values());
    return settled.filter((one) => one.status === "fulfilled").map((one) => one.value);
  }

  async #measure(): Promise<void> {
    for (const cluster of await this.#started()) {
      const known = this.#figures.get(cluster.name);
      if (known !== undefined) this.#figures.set(cluster.name, { ...known, memoryBytes: cluster.memoryBytes() });
    }
  }
}
