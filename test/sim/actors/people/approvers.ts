/**
 * People who are told that too many changes of Deployments are held, look at them, and let them pass
 * (docs/mass-changes.md#approve). In a world people and controllers have one name, so that their everyday edits are
 * many of one cause.
 */
import { builtInResources } from "../../../double/engine/resources.ts";
import { Draws } from "../../../support/draws.ts";
import { approve, latchedCauses, writeApproval } from "../../clusters/latches.ts";
import { type Core } from "../../core.ts";
import { type World } from "../../world.ts";
import { quietly } from "../quietly.ts";

const { configMaps } = builtInResources;

/** Of a latch, until somebody approves; also between two tries. */
const noticedMs = { least: 2_000, most: 20_000 };

/** What people write who have not read how; and until they are told, and look it up. */
const mistakes = [
  "yes",
  "[]",
  "{}",
  '{"cause": "*"}',
  '{"cause": "*", "reason": "planned", "until": "tomorrow"}',
  '{"cause": "*", "reason": "planned", "until": "1999-12-31T23:59:59Z"}',
  '{"cause": "*", "reason": "planned", "until": "9999-12-31T23:59:59Z"}',
];
const toldMs = { least: 1_000, most: 10_000 };

/** Of the one name under which all people and controllers of a world write. */
const everydayPrefix = "manager/double";

export class Approvers {
  readonly #world: World;
  readonly #core: Core;
  readonly #draws: Draws;
  #isLooking = false;
  #approvals = 0;

  constructor(world: World, core: Core) {
    this.#world = world;
    this.#core = core;
    this.#draws = new Draws(core.rng("approvers"));
  }

  /** From now on somebody looks after whatever is latched. */
  begin(): void {
    this.#core.server.engine.onChange(configMaps, () => void this.#look());
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const { kernel, plan } = this.#world;
    const { server, massChanges } = this.#core;
    const { engine } = server;
    // By wrong clocks a change that comes later may be taken for an earlier one (docs/mass-changes.md#approve).
    const isVague = plan.faults.has("clocks") && plan.faults.has("mass-changes");
    while (latchedCauses(engine).length > 0) {
      await kernel.pause(this.#draws.between(noticedMs.least, noticedMs.most));
      // That one has a person of its own, who takes longer (mass-changes.ts).
      const isOther = massChanges.isWaiting;
      const causes = latchedCauses(engine).filter((one) => !isOther || one.startsWith(everydayPrefix));
      const cause = this.#draws.pickAny(causes);
      if (cause === undefined) continue;
      if (this.#draws.chance(0.2)) await this.#blunder();
      this.#approvals += 1;
      const reason = `looked at it, try ${this.#approvals}`;
      const isForAll = !isOther && this.#draws.chance(0.5) && !isVague;
      await quietly(() => approve(engine, isForAll ? "*" : cause, reason));
    }
    this.#isLooking = false;
  }

  /** What is no approval, or names what holds nothing, lets nothing pass. */
  async #blunder(): Promise<void> {
    const { kernel } = this.#world;
    const { server } = this.#core;
    const { engine } = server;
    const mistake = this.#draws.pickAny(mistakes);
    await quietly(() =>
      mistake === undefined || this.#draws.chance(0.2)
        ? approve(engine, "manager/nobody", `mistaken, try ${this.#approvals}`)
        : writeApproval(engine, mistake),
    );
    await kernel.pause(this.#draws.between(toldMs.least, toldMs.most));
  }
}
