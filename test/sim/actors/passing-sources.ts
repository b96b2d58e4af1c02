/**
 * Deployments that select the workload's pods too, come and go for ever: a migration, a canary. What is released with
 * them in good order refuses nothing afterwards, and nobody makes it again.
 */
import { type KubeObject } from "../../double/engine/object.ts";
import { builtInResources } from "../../double/engine/resources.ts";
import { Draws } from "../../support/draws.ts";
import { namespace } from "../clusters/namespaces.ts";
import { type Core } from "../core.ts";
import { type World } from "../world.ts";
import { quietly } from "./quietly.ts";

const { deployments } = builtInResources;
/** Each is one more budget for every deletion. */
const passingMax = 8;
const staysMs = { least: 5_000, most: 45_000 };
const lookAgainMs = 1_000;

export class PassingSources {
  readonly #world: World;
  readonly #core: Core;
  readonly #draws: Draws;
  #made = 0;
  #present: string | undefined;
  #isOver = false;

  constructor(world: World, core: Core) {
    this.#world = world;
    this.#core = core;
    this.#draws = new Draws(core.rng("passing sources"));
  }

  /** One comes, if none is there, and goes after a while. */
  async act(): Promise<void> {
    const { plan, kernel } = this.#world;
    if (!plan.hasGenerator || this.#isOver || this.#present !== undefined || this.#made >= passingMax) return;
    this.#made += 1;
    const name = `passing-${this.#made}`;
    this.#present = name;
    await this.#create(name);
    const untilMs = kernel.nowMs + this.#draws.between(staysMs.least, staysMs.most);
    while (!this.#isOver && kernel.nowMs < untilMs) await kernel.pause(lookAgainMs);
    while (this.#find(name) !== undefined) {
      await this.#remove(name);
      await kernel.pause(lookAgainMs);
    }
    this.#present = undefined;
  }

  /** The present one goes, and no other comes. */
  goHome(): void {
    this.#isOver = true;
  }

  get isHome(): boolean {
    return this.#present === undefined;
  }

  #find(name: string): KubeObject | undefined {
    return this.#core.server.engine.find(deployments, namespace, name);
  }

  /** With a floor that is no higher than the workload's own. */
  async #create(name: string): Promise<void> {
    const { plan } = this.#world;
    const replicas = plan.podsPerCell * plan.cells.length;
    const floor = this.#draws.whole(1, Math.max(1, this.#core.minAvailable - 1));
    const spec = {
      replicas,
      minReadySeconds: plan.minReadySeconds,
      selector: { matchLabels: { app: "web" } },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: replicas - floor, maxSurge: 1 } },
      template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "main", image: "web:1" }] } },
    };
    const body = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name, labels: { app: name } }, spec };
    await quietly(() => this.#core.server.engine.create(deployments, namespace, body));
  }

  /** It wants no replicas any more, so its PodProtector may go. */
  async #remove(name: string): Promise<void> {
    const { engine } = this.#core.server;
    const isTerminating = this.#find(name)?.metadata.deletionTimestamp !== undefined;
    if (!isTerminating) {
      await quietly(() => engine.delete(deployments, namespace, name, { propagationPolicy: "Background" }));
      return;
    }
    const patch = { contentType: "application/merge-patch+json", body: { spec: { replicas: 0 } } };
    await quietly(() => engine.patch(deployments, namespace, name, patch));
  }
}
