/**
 * Pods of other owners with the labels of the workload: of Jobs, DaemonSets and Nodes, of kinds that nobody knows, and
 * of nobody. They come and end, lose their owners, and are deleted like any other; and people edit the list of kinds
 * that are left out (docs/accounting.md#foreign-pods).
 */
import { annotations } from "../../../src/api/v1alpha1/names.ts";
import { type KubeObject } from "../../double/engine/object.ts";
import { builtInResources } from "../../double/engine/resources.ts";
import { formatSeconds } from "../../double/engine/metadata.ts";
import { Draws } from "../../support/draws.ts";
import { namespace } from "../clusters/namespaces.ts";
import { cellLabel } from "../processes/fleet.ts";
import { type Cell, type World } from "../world.ts";
import { type Deleters } from "./deleters.ts";
import { quietly } from "./quietly.ts";

const { pods } = builtInResources;
const kubelet = { username: "system:node:node-1", groups: ["system:nodes", "system:authenticated"] };
const podsPerCellMax = 4;
const owners = [
  { apiVersion: "batch/v1", kind: "Job" },
  { apiVersion: "batch/v1", kind: "Job" },
  { apiVersion: "apps/v1", kind: "DaemonSet" },
  { apiVersion: "v1", kind: "Node" },
  { apiVersion: "example.com/v1", kind: "Job" },
  undefined,
];
const lists: readonly (readonly string[] | null)[] = [
  ["DaemonSet.apps", "Job.batch", "Node"],
  ["Job.batch"],
  ["Job.batch"],
  [],
  null,
];

export class StrangersPods {
  readonly #world: World;
  readonly #deleters: Deleters;
  readonly #draws: Draws;
  readonly #watched = new Set<Cell>();
  #created = 0;

  constructor(world: World, deleters: Deleters) {
    this.#world = world;
    this.#deleters = deleters;
    this.#draws = new Draws(world.kernel.rng("strangers"));
  }

  async act(): Promise<void> {
    const draws = this.#draws;
    const cell = draws.pickAny(this.#world.cells);
    if (cell === undefined) return;
    this.#endTerminating(cell);
    const present = this.#podsOf(cell);
    const pod = draws.pickAny(present);
    const draw = draws.between(0, 1);
    if (draw < 0.15) return await this.#editList();
    if (pod === undefined || (draw < 0.5 && present.length < podsPerCellMax)) return await this.#create(cell);
    if (draw < 0.6) return await this.#patch(cell, pod, { metadata: { ownerReferences: null } });
    if (draw < 0.7) return await this.#patch(cell, pod, { status: { phase: "Succeeded" } }, "status");
    await this.#deleters.delete(cell, pod, draw < 0.8 ? "evict" : "delete");
  }

  #podsOf(cell: Cell): KubeObject[] {
    const { items } = cell.server.engine.list(pods, namespace);
    return items.filter(({ metadata }) => metadata.name.startsWith("stranger-") && !metadata.deletionTimestamp);
  }

  /** Like a kubelet, after a while. */
  #endTerminating(cell: Cell): void {
    if (this.#watched.has(cell)) return;
    this.#watched.add(cell);
    const { engine } = cell.server;
    engine.onChange(pods, ({ object }) => {
      const { name, deletionTimestamp } = object.metadata;
      if (deletionTimestamp === undefined || !name.startsWith("stranger-")) return;
      const end = async (): Promise<void> => {
        await quietly(() => engine.delete(pods, namespace, name, { gracePeriodSeconds: 0 }, { caller: kubelet }));
      };
      this.#world.kernel.schedule(this.#draws.between(0, 6_000), () => void end());
    });
  }

  async #create(cell: Cell): Promise<void> {
    this.#created += 1;
    const owner = this.#draws.pickAny(owners);
    const name = `stranger-${this.#created}`;
    const own = { app: "web" };
    const labels = this.#world.plan.cellsBy === "label" ? { ...own, [cellLabel]: cell.name } : own;
    const { criterion } = this.#world.plan;
    const judgedBy = criterion === "Available" ? {} : { annotations: { [annotations.healthCriterion]: criterion } };
    const reference = { ...owner, name: "owner", uid: "uid-of-owner", controller: true };
    const created = await quietly(() =>
      cell.server.engine.create(pods, namespace, {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name, labels, ...judgedBy, ...(owner !== undefined && { ownerReferences: [reference] }) },
        spec: { nodeName: "node-1", containers: [{ name: "main", image: "job:1" }], terminationGracePeriodSeconds: 30 },
      }),
    );
    if (created === undefined) return;
    const lastTransitionTime = formatSeconds(cell.node.clock.epochMicros());
    const conditions = ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map((type) => {
      return { type, status: "True", lastTransitionTime };
    });
    await this.#patch(cell, created, { status: { phase: "Running", conditions } }, "status");
  }

  async #patch(cell: Cell, { metadata }: KubeObject, body: object, subresource?: "status"): Promise<void> {
    const options = { caller: kubelet, ...(subresource !== undefined && { subresource }) };
    const patch = { contentType: "application/merge-patch+json", body } as const;
    await quietly(() => cell.server.engine.patch(pods, namespace, metadata.name, patch as never, options));
  }

  /** Of a hand-made PodProtector; that of a generated one is the generator's. */
  async #editList(): Promise<void> {
    if (this.#world.plan.hasGenerator) return;
    const { protectors, server } = this.#draws.oneOf(this.#world.core, ...this.#world.cores);
    const body = { spec: { foreignOwners: this.#draws.pickAny(lists) ?? null } };
    const patch = { contentType: "application/merge-patch+json", body } as const;
    await quietly(() => server.engine.patch(protectors, namespace, "web", patch));
  }
}
