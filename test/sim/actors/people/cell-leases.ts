/**
 * People who look after the Leases of cells (docs/cells.md): who retire a cell, change their minds, keep a silent one
 * in force, hand one over, delete a Lease, and misspell what they mean.
 */
import { cellLeaseAnnotations, cellLeaseName } from "../../../../src/api/cell-lease.ts";
import { formatMicroTime } from "../../../../src/api/micro-time.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import { type KubeObject } from "../../../double/engine/object.ts";
import { builtInResources } from "../../../double/engine/resources.ts";
import { Draws } from "../../../support/draws.ts";
import { type Core } from "../../core.ts";
import { type World } from "../../world.ts";
import { quietly } from "../quietly.ts";

const { leases } = builtInResources;
/** The default of --cell-lease-namespace. */
const leaseNamespace = "default";
const keptMs = { least: 5_000, most: 60_000 };
const lookAgainMs = 1_000;

export class CellOwners {
  readonly #world: World;
  readonly #core: Core;
  readonly #draws: Draws;

  constructor(world: World, core: Core) {
    this.#world = world;
    this.#core = core;
    this.#draws = new Draws(core.rng("owners of cells"));
  }

  /** Somebody does something about a cell, most likely about one that is silent. */
  async act(): Promise<void> {
    const { cells, lost } = this.#world;
    const { forget, keepUntil, adopt } = cellLeaseAnnotations;
    const silent = cells.filter(
      ({ name }) => this.#leaseOf(name)?.metadata.annotations?.[cellLeaseAnnotations.silentSince],
    );
    const { name: cell } = this.#draws.pick(silent.length > 0 && this.#draws.chance(0.8) ? silent : cells);
    // Of a lost cell anything else would put its last counts in force again, as people may want.
    if (lost.cells.size > 0 || isCellToBeLost(this.#world))
      return await this.#annotate(cell, forget, this.#draws.chance(0.7) ? "true" : null);
    await this.#draws.weighted([
      [6, () => this.#annotate(cell, forget, "true")],
      [2, () => this.#annotate(cell, forget, null)],
      [2, () => this.#annotate(cell, keepUntil, this.#soon())],
      [1, () => this.#annotate(cell, adopt, "00000000-0000-4000-8000-000000000000")],
      [1, () => this.#annotate(cell, this.#draws.oneOf<string>(forget, keepUntil, adopt), "yes")],
      [2, () => this.#delete(cell)],
    ]);
  }

  /** Nobody asks to retire a cell that is there; where a generator is there, it answers. */
  async goHome(): Promise<void> {
    while (!this.isHome) {
      const unanswered = this.#world.plan.hasGenerator ? [] : this.#asked;
      for (const cell of unanswered) await this.#annotate(cell, cellLeaseAnnotations.forget, null);
      await this.#world.kernel.pause(lookAgainMs);
    }
  }

  get isHome(): boolean {
    return this.#asked.length === 0;
  }

  get #asked(): readonly string[] {
    const { cells, lost } = this.#world;
    const names = cells.map(({ name }) => name).filter((name) => !lost.cells.has(name));
    return names.filter((name) => this.#leaseOf(name)?.metadata.annotations?.[cellLeaseAnnotations.forget] === "true");
  }

  #leaseOf(cell: string): KubeObject | undefined {
    return this.#core.server.engine.find(leases, leaseNamespace, cellLeaseName(cell));
  }

  #soon(): string {
    const atMicros = this.#core.node.clock.epochMicros() + 1000 * this.#draws.between(keptMs.least, keptMs.most);
    return formatMicroTime(Math.round(atMicros) as EpochMicros);
  }

  async #annotate(cell: string, annotation: string, value: string | null): Promise<void> {
    this.#world.kernel.note(`${this.#core.name} Lease of ${cell}: ${annotation} ${value ?? "goes"}`);
    const patch = {
      contentType: "application/merge-patch+json",
      body: { metadata: { annotations: { [annotation]: value } } },
    };
    const { engine } = this.#core.server;
    await quietly(() => engine.patch(leases, leaseNamespace, cellLeaseName(cell), patch));
  }

  async #delete(cell: string): Promise<void> {
    this.#world.kernel.note(`${this.#core.name} Lease of ${cell} is deleted`);
    await quietly(() => this.#core.server.engine.delete(leases, leaseNamespace, cellLeaseName(cell)));
  }
}

function isCellToBeLost({ plan: { loss } }: World): boolean {
  return loss === "cell" || loss === "aggregator" || loss === "writes of a cell";
}
