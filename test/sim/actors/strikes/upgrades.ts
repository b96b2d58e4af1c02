/**
 * A rolling upgrade of the whole fleet, from the previous release or back to it: process after process is stopped in
 * good order and started with the other release, at random times and in random order, so that any mix is there for a
 * while.
 */
import { type Rng } from "../../../../src/util/rng.ts";
import { type Release, presentRelease } from "../../processes/release.ts";
import { type SimProcess } from "../../processes/process.ts";
import { type World } from "../../world.ts";

/** Until a new pod of a Deployment has been scheduled and started. */
const startMs = 500;

export class Upgrades {
  readonly #world: World;
  readonly #rng: Rng;
  readonly #isToStart: (process: SimProcess) => boolean;

  /** `isToStart`: whether the process is down, and may come back. */
  constructor(world: World, isToStart: (process: SimProcess) => boolean) {
    this.#world = world;
    this.#rng = world.kernel.rng("upgrades");
    this.#isToStart = isToStart;
  }

  /** All processes are replaced before the chaos ends. */
  begin(): void {
    const { kernel, plan, nextRelease } = this.#world;
    if (nextRelease === undefined) return;
    this.#world.count(`upgrade ${plan.upgrade}`);
    for (const process of this.#world.processes()) {
      kernel.schedule(this.#rng.next() * plan.chaosMs, () => void this.#replace(process, nextRelease));
    }
  }

  async #replace(process: SimProcess, release: Release): Promise<void> {
    const { kernel } = this.#world;
    kernel.note(`${process.name} is to run ${release === presentRelease ? "this" : "the previous"} release`);
    this.#world.count("upgraded processes");
    process.release = release;
    this.#world.upgradedAtMs.set(process, kernel.nowMs);
    if (process.node() === undefined) return;
    await process.stop();
    kernel.schedule(startMs, () => {
      if (this.#isToStart(process)) void process.start();
    });
  }
}
