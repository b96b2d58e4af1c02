/** What happens to the pods of a cell beside single deletions: drains, lost nodes, scaling, and collected garbage. */
import { assert } from "../../../../src/util/assert.ts";
import { Draws } from "../../../support/draws.ts";
import { builtInResources } from "../../../double/engine/resources.ts";
import { namespace } from "../../clusters/namespaces.ts";
import { type Cell, type World } from "../../world.ts";
import { type Deleters } from "../deleters.ts";
import { StrangersPods } from "../strangers.ts";
import { quietly } from "../quietly.ts";
import { ownTarget } from "../sources.ts";
import { type CoreCast } from "../core-cast.ts";
import { nodeNames, type Workload } from "../workload.ts";

const { deployments } = builtInResources;
/** A drain asks again after so long for what was refused, and gives up after so many rounds. */
const drain = { againMs: 5_000, roundsMax: 6 };
/** A controller tries again sooner. */
const controller = { againMs: 2_000, roundsMax: 8 };
/** Until a node is heard of again. After `evictedAfterMs` its pods are deleted. */
const lostNode = { meanMs: 20_000, evictedAfterMs: 15_000 };

export interface NodeCast {
  readonly workloads: ReadonlyMap<string, Workload>;
  readonly deleters: Deleters;
  /** Who acts in one of the cores. */
  readonly anyCore: () => CoreCast;
}

export class Nodes {
  readonly #world: World;
  readonly #cast: NodeCast;
  readonly #draws: Draws;
  /** What runs there beside the workload. */
  readonly strangers: StrangersPods;
  /** Another one waits until the present one is over. */
  #isCascading = false;
  #isOver = false;

  constructor(world: World, cast: NodeCast) {
    this.#world = world;
    this.#cast = cast;
    this.#draws = new Draws(world.kernel.rng("nodes"));
    this.strangers = new StrangersPods(world, cast.deleters);
  }

  /** From now on only what has begun ends, and as many pods are wanted as were planned. */
  end(): void {
    this.#isOver = true;
    for (const workload of this.#cast.workloads.values()) void workload.scale(this.#world.plan.podsPerCell);
  }

  /** All pods of a node are evicted, again and again for a while. */
  async drain(): Promise<void> {
    const place = this.#place();
    await this.#repeat(
      drain,
      () => place.workload.onNode(place.node).length,
      async () => {
        for (const pod of place.workload.onNode(place.node))
          if (!this.#isOver) await this.#cast.deleters.delete(place.cell, pod, "evict");
      },
    );
  }

  /** Nothing is heard of a node for a while; if it takes long, its pods are deleted. */
  async lose(): Promise<void> {
    const { cell, workload, node } = this.#place();
    const durationMs = -Math.log(1 - this.#draws.between(0, 1)) * lostNode.meanMs;
    const lost = workload.onNode(node);
    await workload.loseNode(node, durationMs);
    if (durationMs < lostNode.evictedAfterMs) return;
    await this.#world.kernel.pause(lostNode.evictedAfterMs);
    for (const pod of lost) if (!this.#isOver) await this.#cast.deleters.delete(cell, pod, "delete");
  }

  /** An autoscaler wants more or fewer pods: it tells the Deployment, and the controllers follow. */
  async scale(): Promise<void> {
    const { plan } = this.#world;
    const total = plan.podsPerCell * plan.cells.length;
    const replicas = this.#draws.whole(Math.ceil(total / 3), Math.ceil(total * 1.3));
    if (this.#isCascading || this.#isOver) return;
    if (plan.hasGenerator) {
      const patch = { contentType: "application/merge-patch+json", body: { spec: { replicas } } };
      const { server } = this.#cast.anyCore().core;
      await quietly(() => server.engine.patchScale(deployments, namespace, ownTarget.name, patch));
    }
    const { cells } = this.#world;
    await Promise.all(cells.map((cell) => this.#follow(cell, Math.max(1, Math.round(replicas / cells.length)))));
  }

  /**
   * Somebody deletes the Deployment in the background: the collector deletes its ReplicaSets and their pods, as far as
   * it may; then people scale it down, and it goes. They make it again later.
   */
  async cascade(): Promise<void> {
    const { plan, cells, kernel } = this.#world;
    if (!plan.hasGenerator || this.#isCascading || this.#isOver) return;
    this.#isCascading = true;
    kernel.note("a Deployment is deleted, with all that it owns");
    await this.#cast.anyCore().sources.deleteAndRestore(ownTarget, async () => {
      await Promise.all(cells.map((cell) => this.#follow(cell, 0)));
    });
    this.#isCascading = false;
    for (const workload of this.#cast.workloads.values()) await workload.scale(plan.podsPerCell);
  }

  /** The controllers of a cell bring it to so many pods. */
  async #follow(cell: Cell, wanted: number): Promise<void> {
    const workload = this.#cast.workloads.get(cell.name);
    if (workload === undefined) return;
    await workload.scale(wanted);
    await this.#repeat(
      controller,
      () => workload.surplus,
      async () => {
        const pods = workload.live().slice(0, workload.surplus);
        await Promise.all(pods.map((pod) => this.#cast.deleters.delete(cell, pod, "delete")));
      },
    );
  }

  async #repeat({ againMs, roundsMax }: typeof drain, left: () => number, act: () => Promise<void>): Promise<void> {
    for (let round = 0; round < roundsMax && left() > 0 && !this.#isOver; round += 1) {
      await act();
      await this.#world.kernel.pause(againMs);
    }
  }

  #place(): { readonly cell: Cell; readonly workload: Workload; readonly node: string } {
    const cell = this.#draws.pick(this.#world.cells);
    const workload = this.#cast.workloads.get(cell.name);
    assert(workload !== undefined, "each cell has a workload");
    return { cell, workload, node: this.#draws.oneOf<string>(...nodeNames) };
  }
}
