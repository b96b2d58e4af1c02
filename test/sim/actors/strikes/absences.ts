/**
 * What is away for long: as long as makes a cell silent, or as an hour of people lasts in this world. Processes are
 * down, start and die again and again, are suspended or cut off; a core takes no writes.
 */
import { Draws } from "../../../support/draws.ts";
import { unwritten } from "../../clusters/conditions.ts";
import { generatorOf, generatorsOfCore, nodeOfCore } from "../../clusters/core-names.ts";
import { type Core } from "../../core.ts";
import { type SimProcess } from "../../processes/process.ts";
import { type World } from "../../world.ts";

/** Of what an absence is compared with: some end just before that. */
const share = { least: 0.4, most: 2.5 };
/** Nothing lasts longer than that in a world. */
const longestMs = 150_000;
/** Between two starts of a process that dies again and again. */
const livesMs = { least: 1_000, most: 15_000 };
const full = { leastMs: 10_000, mostMs: 90_000 };

export class Absences {
  readonly #world: World;
  readonly #draws: Draws;
  readonly #isToStart: (process: SimProcess) => boolean;
  /** What ends the core's troubles. */
  readonly #ends = new Set<() => void>();
  readonly #endMs: number;
  #isOver = false;

  /** `isToStart`: whether the process is down, and may come back. */
  constructor(world: World, isToStart: (process: SimProcess) => boolean) {
    this.#world = world;
    this.#draws = new Draws(world.kernel.rng("absences"));
    this.#isToStart = isToStart;
    this.#endMs = world.kernel.nowMs + world.plan.chaosMs;
  }

  /** All that is still away comes back. */
  end(): void {
    this.#isOver = true;
    for (const end of this.#ends) end();
  }

  /** Somebody is away. */
  strike(): void {
    const { kernel } = this.#world;
    const durationMs = this.#durationMs();
    const who = this.#group();
    const how = this.#draws.oneOf("down", "again and again", "suspended", "cut off", "cut off", "cut off");
    kernel.note(`${how} for ${Math.round(durationMs)} ms: ${who.map(({ name }) => name).join(" ")}`);
    if (how === "cut off") return this.#cutOff(who, durationMs);
    if (how === "suspended") return this.#suspend(who, durationMs);
    for (const process of who) {
      process.kill();
      const downMs = how === "down" ? durationMs : this.#draws.between(livesMs.least, livesMs.most);
      this.#startAfter(process, downMs, kernel.nowMs + durationMs);
    }
  }

  /** A core answers reads, and takes no writes. */
  fill(core: Core): void {
    const { kernel } = this.#world;
    const what = this.#draws.oneOf(...unwritten);
    const stalls = this.#draws.chance(0.3);
    const durationMs = this.#draws.between(full.leastMs, full.mostMs);
    if (core.isFull || this.#isOver) return;
    kernel.note(`${core.name} takes no writes for ${Math.round(durationMs)} ms: ${what}`);
    const end = core.fill(what, stalls);
    this.#ends.add(end);
    kernel.schedule(durationMs, () => {
      this.#ends.delete(end);
      end();
    });
  }

  #durationMs(): number {
    const { silentAfterMs, hourMs } = this.#world.plan;
    const usual = [silentAfterMs, hourMs].filter((ms) => ms <= longestMs);
    return Math.min(longestMs, this.#draws.between(share.least, share.most) * (this.#draws.pickAny(usual) ?? 60_000));
  }

  /** One, or all that do the same: those of a cell, or of a core. */
  #group(): readonly SimProcess[] {
    const { webhooks, aggregators, generators, cells, cores } = this.#world;
    const roles = [webhooks, aggregators, generators].filter(({ length }) => length > 0);
    const one = this.#draws.pick(this.#draws.pick(roles));
    if (this.#draws.chance(0.5)) return [one];
    if (aggregators.includes(one)) {
      const cell = cells.find(({ name }) => one.name.startsWith(`aggregator-${name}-`))?.name ?? "";
      return aggregators.filter(({ name }) => name.startsWith(`aggregator-${cell}-`));
    }
    const own = cores.map(({ name }) =>
      Array.from({ length: generatorsOfCore }, (_, index) => generatorOf(name, index + 1)),
    );
    const names = own.find((list) => list.includes(one.name));
    return names === undefined ? [one] : generators.filter(({ name }) => names.includes(name));
  }

  /** They wake before all is mended. */
  #suspend(who: readonly SimProcess[], durationMs: number): void {
    const { kernel, ledger } = this.#world;
    const lastsMs = Math.min(durationMs, this.#endMs - kernel.nowMs);
    for (const process of who) {
      process.node()?.suspendFor(lastsMs);
      ledger.exclusions.sleeps(process.name, kernel.nowMs + lastsMs);
    }
  }

  /** From the cores, or from all clusters; both ways, or one. What was written meanwhile may be compacted. */
  #cutOff(who: readonly SimProcess[], durationMs: number): void {
    const { network, kernel, cores, cells } = this.#world;
    const ofCores = cores.map(({ name }) => nodeOfCore(name));
    const servers = this.#draws.chance(0.7) ? ofCores : [...ofCores, ...cells.map(({ node }) => node.name)];
    const pairs = who.flatMap(({ name }) => servers.map((server) => [name, server] as const));
    const [isOut, isIn] = this.#draws.oneOf([true, true], [true, false], [false, true]);
    const cuts = pairs.flatMap(([process, server]) => [
      ...(isOut ? [[process, server] as const] : []),
      ...(isIn ? [[server, process] as const] : []),
    ]);
    for (const [from, to] of cuts) network.cut(from, to);
    const isCompacted = this.#draws.chance(0.7);
    kernel.schedule(durationMs, () => {
      if (this.#isOver) return;
      for (const [from, to] of cuts) network.heal(from, to);
      if (!isCompacted) return;
      for (const { server } of cores) server.conditions.compacted(who.map(({ name }) => name));
      for (const process of who) this.#reset(process);
    });
  }

  /** The servers have given its watches up. */
  #reset(process: SimProcess): void {
    const node = process.node();
    if (node !== undefined) this.#world.network.resetConnectionsOf(node);
  }

  /** Starts it then; before the end it dies again. */
  #startAfter(process: SimProcess, delayMs: number, endMs: number): void {
    const { kernel } = this.#world;
    kernel.schedule(delayMs, () => {
      if (this.#isOver || !this.#isToStart(process)) return;
      void process.start();
      if (kernel.nowMs >= endMs) return;
      kernel.schedule(this.#draws.between(livesMs.least, livesMs.most), () => {
        if (this.#isOver || kernel.nowMs >= endMs) return;
        process.kill();
        this.#startAfter(process, this.#draws.between(0, livesMs.least), endMs);
      });
    });
  }
}
