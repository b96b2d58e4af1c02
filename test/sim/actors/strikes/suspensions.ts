/**
 * Machines that sleep, from seconds to some minutes (docs/accounting.md#suspended-machines): their processes are
 * frozen, and their monotonic clocks stand still, while the wall clock goes on.
 */
import { silenceTimes } from "../../../../src/accounting/silence/silence-times.ts";
import { settleWindowMs } from "../../core.ts";
import { type SimProcess } from "../../processes/process.ts";
import { type World } from "../../world.ts";
import { Draws } from "../../../support/draws.ts";

/** As powers of ten, in milliseconds: short ones are as likely as long ones. No absence is longer (absences.ts). */
const powers = { least: Math.log10(2_000), most: Math.log10(150_000) };

/** Above the times of the product by so much a sleep is noticed for certain: machines look now and then, and drift. */
const surely = 1.2;

export class Suspensions {
  readonly #world: World;
  readonly #draws: Draws;
  readonly #endMs: number;
  /** When the last sleep of a process ended. */
  readonly #wokeMs = new Map<SimProcess, number>();

  constructor(world: World) {
    this.#world = world;
    this.#draws = new Draws(world.kernel.rng("suspensions"));
    this.#endMs = world.kernel.nowMs + world.plan.chaosMs;
  }

  /** The machine of one process goes to sleep. It wakes before all is mended. */
  strike(): void {
    const { kernel, ledger } = this.#world;
    const process = this.#draws.pick(this.#world.processes());
    const node = process.node();
    const durationMs = Math.min(10 ** this.#draws.between(powers.least, powers.most), this.#endMs - kernel.nowMs);
    if (node === undefined || kernel.nowMs < node.pausedUntilMs) return;
    kernel.note(`${process.name} sleeps for ${Math.round(durationMs)} ms`);
    node.suspendFor(durationMs);
    ledger.exclusions.sleeps(process.name, kernel.nowMs + durationMs);
    kernel.schedule(durationMs, () => this.#woke(process, durationMs));
  }

  /**
   * A lost cell may be in force a while longer: to a webhook that begins to count its silence now, and by an aggregator
   * that goes on by its last barrier. That one must notice a long sleep, if it is the first in a settle window.
   */
  #woke(process: SimProcess, durationMs: number): void {
    const { kernel, ledger, plan, webhooks, aggregators } = this.#world;
    const { nowMs } = kernel;
    const wokeMs = this.#wokeMs.get(process) ?? Number.NEGATIVE_INFINITY;
    this.#wokeMs.set(process, nowMs);
    const isLong = durationMs > silenceTimes(plan.silentAfterMs).contactMs * surely;
    const isFirst = nowMs - durationMs - wokeMs > settleWindowMs * surely;
    const goesOn = aggregators.includes(process) && !(isLong && isFirst);
    if (!webhooks.includes(process) && !goesOn) return;
    for (const cell of ledger.unheardSinceMs.keys()) ledger.unheardSinceMs.set(cell, nowMs);
  }
}
