/**
 * People who try Podseidon in shadow, switch it off, and put it in force again: by labels of namespaces, and by the
 * annotation of PodProtectors that they have made themselves (docs/generator.md#modes).
 */
import { annotations, labels } from "../../../../src/api/v1alpha1/names.ts";
import { type JsonObject } from "../../../double/engine/object.ts";
import { builtInResources } from "../../../double/engine/resources.ts";
import { Draws } from "../../../support/draws.ts";
import { isNameOfGenerated } from "../../checkers/sources/kinds.ts";
import { namespace as ownNamespace, sourceNamespace } from "../../clusters/namespaces.ts";
import { type Core } from "../../core.ts";
import { type World } from "../../world.ts";
import { quietly } from "../quietly.ts";

const { namespaces } = builtInResources;

/** How long somebody tries a namespace; the other namespaces stay as they are. */
const triedMs = { least: 2_000, most: 40_000 };
const lookAgainMs = 1_000;
/** What no generator can read. */
const misspelt = "Shadow";

export class ModeOwners {
  readonly #world: World;
  readonly #core: Core;
  readonly #draws: Draws;
  #isOver = false;
  #isInCalm = false;

  constructor(world: World, core: Core) {
    this.#world = world;
    this.#core = core;
    this.#draws = new Draws(core.rng("modes"));
  }

  /** Somebody switches a namespace, or a hand-made PodProtector. */
  async act(): Promise<void> {
    const { plan } = this.#world;
    // The release before this one knows none, and after a restore nobody knows which versions webhooks were told of.
    if (this.#isOver || plan.upgrade !== "none" || plan.faults.has("restores")) return;
    if (!plan.hasGenerator || this.#draws.chance(0.2)) return await this.#annotate();
    const name = this.#draws.oneOf(ownNamespace, sourceNamespace);
    const mode = this.#draws.oneOf<string | null>("shadow", "shadow", "off", "enforced", null, misspelt);
    await this.#label(name, mode);
    await this.#world.kernel.pause(this.#draws.between(triedMs.least, triedMs.most));
    // The workload's is not off for long: nothing else would be tried.
    if (name === ownNamespace && this.#modeOf(name) === "off") await this.#label(name, "enforced");
  }

  /** The same where nothing may disturb the workload. */
  async actInCalm(): Promise<void> {
    const { plan } = this.#world;
    this.#isInCalm = true;
    if (!plan.faults.has("modes") || plan.upgrade !== "none" || !plan.hasGenerator) return;
    await this.#label(sourceNamespace, this.#draws.oneOf<string | null>("shadow", "off", "enforced"));
  }

  /** Sees to it that everything is in force, until somebody acts in calm. */
  async goHome(): Promise<void> {
    this.#isOver = true;
    while (!this.#isInCalm) {
      for (const name of [ownNamespace, sourceNamespace])
        if (this.#modeOf(name) !== undefined) await this.#label(name, null);
      for (const name of this.#shadowed()) await this.#write(name, null);
      await this.#world.kernel.pause(lookAgainMs);
    }
  }

  get isHome(): boolean {
    return (
      [ownNamespace, sourceNamespace].every((name) => this.#modeOf(name) === undefined) && !this.#shadowed().length
    );
  }

  async #annotate(): Promise<void> {
    const { server, protectors } = this.#core;
    const own = server.engine.list(protectors, ownNamespace).items.map(({ metadata }) => metadata.name);
    const name = this.#draws.pickAny(own.filter((one) => !isNameOfGenerated(one)));
    if (name !== undefined) await this.#write(name, this.#draws.chance(0.5) ? "shadow" : null);
  }

  /** Names of the hand-made ones that are in shadow. */
  #shadowed(): readonly string[] {
    const { server, protectors } = this.#core;
    return server.engine
      .list(protectors, ownNamespace)
      .items.filter(({ metadata }) => metadata.annotations?.[annotations.mode] !== undefined)
      .map(({ metadata }) => metadata.name)
      .filter((name) => !isNameOfGenerated(name));
  }

  #modeOf(name: string): string | undefined {
    return this.#core.server.engine.find(namespaces, undefined, name)?.metadata.labels?.[labels.mode];
  }

  async #label(name: string, mode: string | null): Promise<void> {
    // What the label that cannot be read comes after is what holds, and that of a namespace that is off is not known.
    if (mode === misspelt && this.#modeOf(name) === "off") return;
    this.#world.kernel.note(`${this.#core.name} mode of ${name} ${mode ?? "by default"}`);
    const { engine } = this.#core.server;
    const patch = mergePatch({ metadata: { labels: { [labels.mode]: mode } } });
    await quietly(() => engine.patch(namespaces, undefined, name, patch));
  }

  async #write(name: string, mode: string | null): Promise<void> {
    const { server, protectors } = this.#core;
    const patch = mergePatch({ metadata: { annotations: { [annotations.mode]: mode } } });
    await quietly(() => server.engine.patch(protectors, ownNamespace, name, patch));
  }
}

function mergePatch(body: JsonObject) {
  return { contentType: "application/merge-patch+json", body };
}
