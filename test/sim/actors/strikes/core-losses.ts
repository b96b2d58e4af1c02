/** What the core loses with its storage: of the PodProtectors that generators have made, or everything at once. */
import { type JsonObject, type KubeObject } from "../../../double/engine/object.ts";
import { builtInResources, type ResourceType } from "../../../double/engine/resources.ts";
import { permissivePodProtectorCrd } from "../../../double/pod-protector-crd.ts";
import { Draws } from "../../../support/draws.ts";
import { isNameOfGenerated, kindsOfSources } from "../../checkers/sources/kinds.ts";
import { sideNamespace } from "../../clusters/namespaces.ts";
import { type Core } from "../../core.ts";
import { type World } from "../../world.ts";
import { quietly } from "../quietly.ts";

const { customResourceDefinitions } = builtInResources;
/** Until people apply their manifests again; between two of them. */
const noticedMs = { least: 2_000, most: 60_000 };
const betweenMsMax = 2_000;

/** What people have a copy of. */
interface Manifest {
  readonly type: ResourceType;
  readonly namespace: string;
  readonly name: string;
  readonly body: unknown;
  /** Of a custom source, what its controller says again. */
  readonly status: JsonObject;
}

export class CoreLosses {
  readonly #world: World;
  readonly #core: Core;
  readonly #draws: Draws;
  readonly #sourceTypes: readonly ResourceType[];
  #isCrdDeleted = false;

  constructor(world: World, core: Core) {
    this.#world = world;
    this.#core = core;
    this.#draws = new Draws(core.rng("losses of the core"));
    this.#sourceTypes = kindsOfSources(world.plan).map(({ type }) => type);
  }

  /** False from before somebody deletes the CRD of PodProtectors until all is back: the deletion may hang for long. */
  get hasCrd(): boolean {
    return !this.#isCrdDeleted;
  }

  /** Some generated PodProtectors are gone, and nobody has deleted them. */
  loseProtectors(): void {
    const { server, protectors } = this.#core;
    const isAll = this.#draws.chance(0.5);
    for (const object of server.engine.list(protectors).items) {
      const isOurs = object.metadata.namespace !== sideNamespace && isGenerated(object);
      if (isOurs && (isAll || this.#draws.chance(0.5))) this.#erase(protectors, object);
    }
  }

  /** All sources and PodProtectors are gone at once. After a while people apply their manifests again. */
  async wipe(): Promise<void> {
    const { kernel, plan } = this.#world;
    const { protectors } = this.#core;
    // Without a generator a PodProtector is nobody's but its owner's, who erases it as well (protectors.ts).
    if (!plan.hasGenerator) return;
    kernel.note("the core is wiped");
    const sources = this.#sourceTypes;
    const types = this.#draws.chance(0.5) ? [...sources, protectors] : [protectors, ...sources];
    const lost = types.flatMap((type) => this.#objects(type).map((object) => ({ type, object })));
    const manifests = types.flatMap((type) => this.#manifests(type));
    for (const { type, object } of lost) this.#erase(type, object);
    await kernel.pause(this.#draws.between(noticedMs.least, noticedMs.most));
    await this.#applyAll(manifests);
  }

  /**
   * Somebody deletes the CRD of PodProtectors. After a while people take the finalizers off, apply the CRD again, and
   * then their manifests (docs/disasters.md). What generators have made is made again by them, without its status.
   */
  async deleteCrd(): Promise<void> {
    const { kernel, plan } = this.#world;
    const { server, protectors } = this.#core;
    const { engine } = server;
    const definition = permissivePodProtectorCrd();
    const { name } = definition["metadata"] as { readonly name: string };
    if (!plan.hasGenerator || this.#isCrdDeleted) return;
    this.#isCrdDeleted = true;
    kernel.note("the CRD of PodProtectors is deleted");
    const manifests = this.#manifests(protectors);
    // The deletion may hang in a slow etcd; it takes what is there in the end.
    const stop = engine.onChange(customResourceDefinitions, () => {
      for (const object of this.#objects(protectors)) this.#tell(object);
    });
    await quietly(() => engine.delete(customResourceDefinitions, undefined, name));
    stop();
    await kernel.pause(this.#draws.between(noticedMs.least, noticedMs.most));
    while (engine.find(customResourceDefinitions, undefined, name) !== undefined) {
      for (const object of engine.list(protectors).items) await this.#strip(object);
      await kernel.pause(this.#draws.between(0, betweenMsMax));
    }
    await kernel.pause(this.#draws.between(0, noticedMs.least));
    await engine.installCrd(definition);
    await this.#applyAll(manifests);
    this.#isCrdDeleted = false;
  }

  async #strip(object: KubeObject): Promise<void> {
    const { server, protectors } = this.#core;
    const { namespace = "", name } = object.metadata;
    this.#tell(object);
    const patch = { contentType: "application/merge-patch+json", body: { metadata: { finalizers: null } } };
    await quietly(() => server.engine.patch(protectors, namespace, name, patch));
  }

  async #applyAll(manifests: Manifest[]): Promise<void> {
    while (manifests.length > 0) {
      const [manifest] = manifests.splice(this.#draws.below(manifests.length), 1);
      // While the CRD is going it is refused, and tried again.
      if (manifest !== undefined && !(await this.#apply(manifest))) manifests.push(manifest);
      await this.#world.kernel.pause(this.#draws.between(0, betweenMsMax));
    }
  }

  /** All but those of people whose objects are out of order anyway. */
  #objects(type: ResourceType): readonly KubeObject[] {
    const { items } = this.#core.server.engine.list(type);
    return items.filter(({ metadata }) => metadata.namespace !== sideNamespace);
  }

  /** What people have of it in their manifests. */
  #manifests(type: ResourceType): Manifest[] {
    return this.#objects(type)
      .filter((object) => this.#sourceTypes.includes(type) || !isGenerated(object))
      .map(({ apiVersion, kind, metadata: { namespace = "", name, labels = {} }, spec = {}, status = {} }) => {
        return { type, namespace, name, status, body: { apiVersion, kind, metadata: { name, labels }, spec } };
      });
  }

  /** False: it is still not there. */
  async #apply({ type, namespace, name, body, status }: Manifest): Promise<boolean> {
    const { engine } = this.#core.server;
    if (engine.find(type, namespace, name) === undefined) await quietly(() => engine.create(type, namespace, body));
    const patch = { contentType: "application/merge-patch+json", body: { status } };
    if (this.#sourceTypes.includes(type) && type.custom)
      await quietly(() => engine.patch(type, namespace, name, patch, { subresource: "status" }));
    return engine.find(type, namespace, name) !== undefined;
  }

  #erase(type: ResourceType, object: KubeObject): void {
    const { kernel } = this.#world;
    const { server } = this.#core;
    const { namespace = "", name } = object.metadata;
    kernel.note(`the core loses the ${type.kind} ${namespace}/${name}`);
    this.#tell(object);
    server.engine.erase(type, namespace, name);
  }

  /** The generator's checker is told what it did not do. */
  #tell(object: KubeObject): void {
    const { namespace = "", name } = object.metadata;
    if (isGenerated(object)) this.#core.sources.meddled(namespace, name, "loss");
  }
}

function isGenerated({ kind, metadata }: KubeObject): boolean {
  return kind === "PodProtector" && isNameOfGenerated(metadata.name);
}
