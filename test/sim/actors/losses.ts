/**
 * What is lost in the middle of everything and never comes back: a cell, a replica, one kind of request. The rest must
 * go on without it (docs/simulation.md#what-never-heals).
 */
import { type Rng } from "../../../src/util/rng.ts";
import { type RestRequest } from "../../double/rest/rest.ts";
import { type ServerFault } from "../clusters/conditions.ts";
import { type Loss } from "../plan.ts";
import { type SimProcess } from "../processes/process.ts";
import { type World } from "../world.ts";

/** Each of them makes fences fail for ever; after a settle window the aggregator gives up. */
const fenceFaults = ["stall", "serverError", "conflict"] as const;
/** A client whose right was taken away looks like the second to everybody else. */
const writeFaults = ["stall", "serverError"] as const;

export class Losses {
  readonly #world: World;
  readonly #rng: Rng;
  #isOver = false;

  constructor(world: World) {
    this.#world = world;
    this.#rng = world.kernel.rng("losses");
  }

  /** The loss of the plan comes at some time of the chaos. */
  begin(): void {
    const { kernel, plan } = this.#world;
    if (plan.loss === "none") return;
    kernel.schedule(this.#rng.next() * plan.chaosMs, () => this.#lose(plan.loss));
  }

  /** Everything else has been mended: what is lost stays lost, and nothing more will be. */
  last(): void {
    this.#isOver = true;
    for (const cell of this.#world.lost.cells) this.#isolate(cell);
  }

  #lose(loss: Loss): void {
    if (this.#isOver) return;
    const { kernel, webhooks, plan, lost, cells } = this.#world;
    kernel.note(`lost for ever: ${loss}`);
    this.#world.count("losses");
    lost.sinceMs = kernel.nowMs;
    const cell = cells.at(-1)?.name ?? "";
    switch (loss) {
      case "none":
        return;
      case "cell":
        return this.#loseCell(cell);
      case "webhook":
        return this.#kill(webhooks.at(-1));
      case "aggregator":
        if (plan.aggregatorsPerCell === 1) lost.cells.add(cell);
        return this.#kill(this.#aggregatorsOf(cell)[0]);
      case "fences":
        return this.#failFences(cell);
      case "writes of a webhook":
        return this.#failWritesOf(webhooks.at(-1));
      case "writes of a cell":
        for (const process of this.#aggregatorsOf(cell)) this.#failWritesOf(process);
        lost.cells.add(cell);
        return;
      default:
        loss satisfies never;
    }
  }

  #aggregatorsOf(cell: string): readonly SimProcess[] {
    return this.#world.aggregators.filter(({ name }) => name.startsWith(`aggregator-${cell}-`));
  }

  /** The cluster cannot be reached any more. */
  #loseCell(cell: string): void {
    const { lost } = this.#world;
    lost.cells.add(cell);
    for (const process of this.#aggregatorsOf(cell)) lost.processes.add(process);
    this.#isolate(cell);
  }

  #isolate(cell: string): void {
    const { plan, network } = this.#world;
    if (plan.loss !== "cell") return;
    for (const { name } of this.#world.processes()) {
      network.cut(name, `worker-${cell}`);
      network.cut(`worker-${cell}`, name);
    }
  }

  #kill(process: SimProcess | undefined): void {
    if (process === undefined) return;
    this.#world.lost.processes.add(process);
    process.kill();
  }

  #failFences(cell: string): void {
    const type = this.#oneOf(fenceFaults);
    const { conditions } = this.#world.cell(cell).server;
    conditions.lasting.push(({ method, path }) =>
      method === "PATCH" && path.endsWith("/status") ? { type } : undefined,
    );
  }

  #failWritesOf(process: SimProcess | undefined): void {
    if (process === undefined) return;
    this.#world.lost.processes.add(process);
    const type = this.#oneOf(writeFaults);
    const fails = ({ method, path, userAgent }: RestRequest): ServerFault | undefined =>
      userAgent === process.name && method !== "GET" && path.endsWith("/status") ? { type } : undefined;
    this.#world.core.server.conditions.lasting.push(fails);
  }

  #oneOf<T>(list: readonly [T, ...T[]]): T {
    return list[Math.floor(this.#rng.next() * list.length)] ?? list[0];
  }
}
