/** What the core loses with its storage: of the PodProtectors that generators have made, or everything at once. */
import { type KubeObject } from "../../double/engine/object.ts";
import { builtInResources, type ResourceType } from "../../double/engine/resources.ts";
import { Draws } from "../../support/draws.ts";
import { sideNamespace, type World } from "../world.ts";
import { quietly } from "./quietly.ts";

const { deployments } = builtInResources;

const generatedPrefix = "deployment-";
/** Until people apply their manifests again; between two of them. */
const noticedMs = { least: 2_000, most: 60_000 };
const betweenMsMax = 2_000;

/** What people have a copy of. */
interface Manifest {
  readonly type: ResourceType;
  readonly namespace: string;
  readonly name: string;
  readonly body: unknown;
}

export class CoreLosses {
  readonly #world: World;
  readonly #draws: Draws;

  constructor(world: World) {
    this.#world = world;
    this.#draws = new Draws(world.kernel.rng("losses of the core"));
  }

  /** Some generated PodProtectors are gone, and nobody has deleted them. */
  loseProtectors(): void {
    const { core, protectors } = this.#world;
    const isAll = this.#draws.chance(0.5);
    for (const object of core.server.engine.list(protectors).items) {
      const isOurs = object.metadata.namespace !== sideNamespace && isGenerated(object);
      if (isOurs && (isAll || this.#draws.chance(0.5))) this.#erase(protectors, object);
    }
  }

  /** All Deployments and PodProtectors are gone at once. After a while people apply their manifests again. */
  async wipe(): Promise<void> {
    const { kernel, plan, protectors } = this.#world;
    // Without a generator a PodProtector is nobody's but its owner's, who erases it as well (protectors.ts).
    if (!plan.hasGenerator) return;
    kernel.note("the core is wiped");
    const types = this.#draws.chance(0.5) ? [deployments, protectors] : [protectors, deployments];
    const manifests = types.flatMap((type) => this.#wipeAll(type));
    await kernel.pause(this.#draws.between(noticedMs.least, noticedMs.most));
    while (manifests.length > 0) {
      const [manifest] = manifests.splice(this.#draws.below(manifests.length), 1);
      if (manifest !== undefined) await this.#apply(manifest);
      await kernel.pause(this.#draws.between(0, betweenMsMax));
    }
  }

  /** Returns what people have of it in their manifests. */
  #wipeAll(type: ResourceType): Manifest[] {
    const { items } = this.#world.core.server.engine.list(type);
    const lost = items.filter(({ metadata }) => metadata.namespace !== sideNamespace);
    for (const object of lost) this.#erase(type, object);
    return lost
      .filter((object) => type === deployments || !isGenerated(object))
      .map(({ apiVersion, kind, metadata: { namespace = "", name, labels = {} }, spec = {} }) => {
        return { type, namespace, name, body: { apiVersion, kind, metadata: { name, labels }, spec } };
      });
  }

  /** Unless somebody else has. */
  async #apply({ type, namespace, name, body }: Manifest): Promise<void> {
    const { engine } = this.#world.core.server;
    if (engine.find(type, namespace, name) === undefined) await quietly(() => engine.create(type, namespace, body));
  }

  #erase(type: ResourceType, object: KubeObject): void {
    const { core, kernel, sources } = this.#world;
    const { namespace = "", name } = object.metadata;
    kernel.note(`the core loses the ${type.kind} ${namespace}/${name}`);
    if (isGenerated(object)) sources.meddled(namespace, name.slice(generatedPrefix.length), "loss");
    core.server.engine.erase(type, namespace, name);
  }
}

function isGenerated({ kind, metadata }: KubeObject): boolean {
  return kind === "PodProtector" && metadata.name.startsWith(generatedPrefix);
}
