/** What the core loses of the PodProtectors that generators have made. */
import { Draws } from "../../support/draws.ts";
import { sideNamespace, type World } from "../world.ts";

const generatedPrefix = "deployment-";

export class CoreLosses {
  readonly #world: World;
  readonly #draws: Draws;

  constructor(world: World) {
    this.#world = world;
    this.#draws = new Draws(world.kernel.rng("losses of the core"));
  }

  /** Some generated PodProtectors are gone, and nobody has deleted them. */
  loseProtectors(): void {
    const { core, protectors, kernel, sources } = this.#world;
    const isAll = this.#draws.chance(0.5);
    for (const { metadata } of core.server.engine.list(protectors).items) {
      const { namespace = "", name } = metadata;
      const isGenerated = namespace !== sideNamespace && name.startsWith(generatedPrefix);
      if (!isGenerated || (!isAll && this.#draws.chance(0.5))) continue;
      kernel.note(`the core loses the PodProtector ${namespace}/${name}`);
      sources.meddled(namespace, name.slice(generatedPrefix.length), "loss");
      core.server.engine.erase(protectors, namespace, name);
    }
  }
}
