/**
 * Node objects that are deleted while their nodes live, and pod garbage collection, which ends the pods of such a node
 * (docs/system-deletions.md#node-objects-that-are-gone). A person registers the node again, or nobody does.
 */
import { Draws } from "../../../support/draws.ts";
import { builtInResources } from "../../../double/engine/resources.ts";
import { namespace } from "../../clusters/namespaces.ts";
import { podGarbageCollector } from "../../clusters/webhook-configurations.ts";
import { type Cell, type World } from "../../world.ts";
import { quietly } from "../quietly.ts";
import { nodeNames, type Workload } from "../workload.ts";

const { pods } = builtInResources;
const caller = { username: podGarbageCollector, groups: ["system:serviceaccounts", "system:authenticated"] };
/** Every two minutes of an hour as it is in this world: a replica of several may miss some rounds. */
const roundHours = 1 / 30;
/** Until somebody registers the node again, of an hour. */
const noticedHours = { least: 0.02, most: 0.3 };

export class LostNodes {
  readonly #world: World;
  readonly #workloads: ReadonlyMap<string, Workload>;
  readonly #draws: Draws;
  #isOver = false;

  constructor(world: World, workloads: ReadonlyMap<string, Workload>) {
    this.#world = world;
    this.#workloads = workloads;
    this.#draws = new Draws(world.kernel.rng("lost nodes"));
  }

  /** From now on all nodes are registered. */
  end(): void {
    this.#isOver = true;
  }

  /** A controller gone wrong deletes the object of a node that lives. Most likely that of the same one. */
  async act(): Promise<void> {
    const { cells, kernel, plan, orphans } = this.#world;
    const cell = this.#draws.pick(cells);
    const node = this.#draws.chance(0.7) ? nodeNames[0] : this.#draws.oneOf<string>(...nodeNames);
    if (this.#isOver || orphans.isLost(cell.name, node)) return;
    kernel.note(`the object of ${cell.name}/${node} is deleted`);
    const isNoticed = this.#draws.chance(0.7);
    const noticedMs = plan.hourMs * this.#draws.between(noticedHours.least, noticedHours.most);
    const backMs = kernel.nowMs + (isNoticed ? noticedMs : Infinity);
    orphans.lose(cell.name, node);
    while (!this.#isOver && kernel.nowMs < backMs) {
      const workload = this.#workloads.get(cell.name);
      await Promise.all((workload?.onNode(node) ?? []).map(({ metadata }) => this.#collect(cell, metadata)));
      await kernel.pause(roundHours * plan.hourMs);
    }
    kernel.note(`${cell.name}/${node} is registered again`);
    orphans.register(cell.name, node);
  }

  /** It writes the phase first; when that is refused, the pod stays until the next time. */
  async #collect({ server: { engine } }: Cell, { name, uid }: { readonly name: string; readonly uid: string }) {
    const body = { metadata: { uid }, status: { phase: "Failed" } };
    const patch = { contentType: "application/strategic-merge-patch+json", body };
    const options = { caller, subresource: "status" } as const;
    const isWritten = await quietly(() => engine.patch(pods, namespace, name, patch, options));
    if (isWritten === undefined) return;
    await quietly(() =>
      engine.delete(pods, namespace, name, { gracePeriodSeconds: 0, preconditions: { uid } }, { caller }),
    );
  }
}
