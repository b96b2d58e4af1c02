/**
 * What is lost in the middle of everything and never comes back: a cell, a replica, one kind of request. The rest must
 * go on without it (docs/simulation.md#what-never-heals).
 */
import { type Rng } from "../../../../src/util/rng.ts";
import { type RestRequest } from "../../../double/rest/rest.ts";
import { type ServerFault } from "../../clusters/conditions.ts";
import { generatorOf, generatorsOfCore } from "../../clusters/core-names.ts";
import { type Core } from "../../core.ts";
import { type Loss } from "../../plan.ts";
import { isLossNoticed } from "../../checkers/calm.ts";
import { type SimProcess } from "../../processes/process.ts";
import { type World } from "../../world.ts";
import { type Workload } from "../workload.ts";

/** Each of them makes fences fail for ever; after a settle window the aggregator gives up. */
const fenceFaults = ["stall", "serverError", "conflict"] as const;
/** A client whose right was taken away looks like the second to everybody else. */
const writeFaults = ["stall", "serverError"] as const;

export class Losses {
  readonly #world: World;
  readonly #workloads: ReadonlyMap<string, Workload>;
  readonly #rng: Rng;
  #isOver = false;

  constructor(world: World, workloads: ReadonlyMap<string, Workload>) {
    this.#world = world;
    this.#workloads = workloads;
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
    for (const cell of this.#world.lost.cells) {
      this.#isolate(cell);
      this.#unheard(cell);
    }
    if (this.#world.plan.loss === "core") this.#loseCore();
  }

  #lose(loss: Loss): void {
    if (this.#isOver) return;
    const { kernel, webhooks, plan, lost, cells } = this.#world;
    kernel.note(`lost for ever: ${loss}`);
    this.#world.count("losses");
    const cell = cells.at(-1)?.name ?? "";
    switch (loss) {
      case "none":
        return;
      case "cell":
        return this.#loseCell(cell);
      case "webhook":
        return this.#kill(webhooks.at(-1));
      case "aggregator":
        if (plan.aggregatorsPerCell === 1) {
          lost.cells.add(cell);
          if (isLossNoticed(plan)) this.#unheard(cell);
        }
        return this.#kill(this.#aggregatorsOf(cell)[0]);
      case "fences":
        return this.#failFences(cell);
      case "writes of a webhook":
        return this.#failWritesOf(webhooks.at(-1));
      case "writes of a cell":
        for (const process of this.#aggregatorsOf(cell)) this.#failWritesOf(process);
        lost.cells.add(cell);
        return;
      case "core":
        return this.#loseCore();
      case "writes of the core":
        return this.#loseWrites();
      default:
        loss satisfies never;
    }
  }

  #aggregatorsOf(cell: string): readonly SimProcess[] {
    return this.#world.aggregators.filter(({ name }) => name.startsWith(`aggregator-${cell}-`));
  }

  /** The cluster has gone, with all that ran in it. */
  #loseCell(cell: string): void {
    const { lost, plan } = this.#world;
    lost.cells.add(cell);
    for (const process of this.#aggregatorsOf(cell)) lost.processes.add(process);
    this.#isolate(cell);
    void this.#workloads.get(cell)?.perish();
    if (isLossNoticed(plan)) this.#unheard(cell);
  }

  /**
   * From now on nothing comes from the cell, and nothing keeps the webhooks from noticing. A person who goes back to a
   * backup of the core, without the Lease or with it, may keep it in force.
   */
  #unheard(cell: string): void {
    const { ledger, plan, kernel } = this.#world;
    if (plan.loss === "writes of a cell" || plan.faults.has("restores")) return;
    if (!ledger.unheardSinceMs.has(cell)) ledger.unheardSinceMs.set(cell, kernel.nowMs);
  }

  #isolate(cell: string): void {
    if (this.#world.plan.loss === "cell") this.#cutOff(`worker-${cell}`);
  }

  /** The one that is lost, if one is. */
  get #core(): Core {
    const { cores, core, plan } = this.#world;
    return cores.find(({ name }) => name === plan.lostCore) ?? core;
  }

  #loseCore(): void {
    this.#forget(this.#core);
    this.#cutOff(this.#core.node.name);
  }

  /** It goes on answering reads. */
  #loseWrites(): void {
    this.#forget(this.#core);
    this.#core.fill("everything", this.#oneOf(writeFaults) === "stall");
  }

  /** Nothing is demanded of the core and its generators any more. */
  #forget({ name }: Core): void {
    const { lost, kernel, generators } = this.#world;
    if (!lost.cores.has(name)) lost.cores.set(name, kernel.nowMs);
    const own = Array.from({ length: generatorsOfCore }, (_, index) => generatorOf(name, index + 1));
    for (const process of generators) if (own.includes(process.name)) lost.processes.add(process);
  }

  #cutOff(server: string): void {
    const { network } = this.#world;
    for (const { name } of this.#world.processes()) {
      network.cut(name, server);
      network.cut(server, name);
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
    for (const { server } of this.#world.cores) server.conditions.lasting.push(fails);
  }

  #oneOf<T>(list: readonly [T, ...T[]]): T {
    return list[Math.floor(this.#rng.next() * list.length)] ?? list[0];
  }
}
