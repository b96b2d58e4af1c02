/** People who write PodProtectors by hand whose floor follows workloads, and edit, delete and lose them. */
import { type JsonObject, type KubeObject } from "../../../double/engine/object.ts";
import { apiVersionOf } from "../../../double/engine/resources.ts";
import { Draws } from "../../../support/draws.ts";
import { kindsOfSources, ofBudgets } from "../../checkers/sources/kinds.ts";
import { sourceNamespace } from "../../clusters/namespaces.ts";
import { type Core } from "../../core.ts";
import { type World } from "../../world.ts";
import { quietly } from "../quietly.ts";
import { drawSelection } from "../source-specs.ts";

const names = ["followed-one", "followed-two"] as const;
const targetsMax = 3;
const floorMax = 20;

export class FollowedProtectorOwner {
  readonly #world: World;
  readonly #core: Core;
  readonly #draws: Draws;
  /** Of the workloads. */
  readonly #workloads: readonly string[];

  constructor(world: World, core: Core, workloads: readonly string[]) {
    this.#world = world;
    this.#core = core;
    this.#draws = new Draws(core.rng("followed protectors"));
    this.#workloads = workloads;
  }

  async act(): Promise<void> {
    const { server, protectors } = this.#core;
    const name = this.#draws.oneOf<string>(...names);
    const present = server.engine.find(protectors, sourceNamespace, name);
    if (present === undefined) return await this.#create(name);
    await this.#draws.weighted<() => Promise<unknown>>([
      [8, () => () => this.#patch(present, { ...noWish, ...this.#drawWish() })],
      // By mistake: it is undone.
      [2, () => () => this.#setFloor(present)],
      // From now on the floor is the person's.
      [1, () => () => this.#patch(present, noWish)],
      [1, () => () => quietly(() => server.engine.delete(protectors, sourceNamespace, name))],
      [1, () => async () => this.#lose(name)],
    ])();
  }

  async #create(name: string): Promise<void> {
    const { server, protectors } = this.#core;
    const minAvailable = this.#draws.whole(0, floorMax);
    const selector = drawSelection(this.#draws.pick(this.#workloads), this.#draws);
    const spec = { minAvailable, minReadySeconds: 0, selector, ...this.#drawWish() };
    const body = { apiVersion: apiVersionOf(protectors), kind: protectors.kind, metadata: { name }, spec };
    await quietly(() => server.engine.create(protectors, sourceNamespace, body));
  }

  async #setFloor(present: KubeObject): Promise<void> {
    const minAvailable = this.#draws.whole(0, floorMax);
    this.#core.sources.meddled(sourceNamespace, present.metadata.name, `minAvailable ${minAvailable}`);
    await this.#patch(present, { minAvailable });
  }

  #lose(name: string): void {
    const { server, protectors } = this.#core;
    this.#world.kernel.note(`the core loses the PodProtector ${sourceNamespace}/${name}`);
    server.engine.erase(protectors, sourceNamespace, name);
  }

  async #patch({ metadata: { name } }: KubeObject, spec: JsonObject): Promise<void> {
    const { server, protectors } = this.#core;
    const patch = { contentType: "application/merge-patch+json", body: { spec } };
    await quietly(() => server.engine.patch(protectors, sourceNamespace, name, patch));
  }

  #drawWish(): JsonObject {
    const draws = this.#draws;
    const maxUnavailable = draws.oneOf<unknown>(0, 1, 3, "0%", "10%", "29%", "50%", "100%");
    const minAvailablePercent = draws.oneOf(0, 33, 80, 100);
    const share = draws.weighted<JsonObject>([
      [6, () => ({ maxUnavailable })],
      [4, () => ({ minAvailablePercent })],
      // Only one of them may be there.
      [1, () => ({ maxUnavailable, minAvailablePercent })],
    ]);
    if (draws.chance(0.3)) return share;
    return { ...share, targets: Array.from({ length: draws.whole(1, targetsMax) }, () => this.#drawTarget()) };
  }

  #drawTarget(): JsonObject {
    const draws = this.#draws;
    const { type } = draws.pick(kindsOfSources(this.#world.plan).filter((kind) => kind !== ofBudgets));
    const name = draws.pick(this.#workloads);
    const meant = draws.chance(0.6) ? { name } : { selector: { matchLabels: { app: name } } };
    return { apiVersion: apiVersionOf(type), kind: type.kind, ...meant };
  }
}

/** A merge patch that takes all of them away. */
const noWish = { maxUnavailable: null, minAvailablePercent: null, targets: null };
