/**
 * One mass change in the life of a world: a tool overwrites the replicas of all Deployments of a namespace with 0, or
 * switches the namespace off or to shadow, and after a while a person approves it, or undoes it, or both in part
 * (docs/mass-changes.md).
 */
import { labels } from "../../../../src/api/v1alpha1/names.ts";
import { protectorNameOf } from "../../../../src/generator/sources/source-plan.ts";
import { deployments as ofDeployments } from "../../../../src/sources/deployment.ts";
import { asNumber, type JsonObject, type KubeObject } from "../../../double/engine/object.ts";
import { builtInResources } from "../../../double/engine/resources.ts";
import { Draws } from "../../../support/draws.ts";
import { approve } from "../../clusters/latches.ts";
import { shadowModeOf } from "../../checkers/reviews/shadows.ts";
import { massNamespace } from "../../clusters/namespaces.ts";
import { type Core } from "../../core.ts";
import { type World } from "../../world.ts";
import { quietly } from "../quietly.ts";

const { deployments, namespaces } = builtInResources;

/** More than half of all floors of most worlds, and no more than 20: only the rule of the half holds them. */
const workloads = { least: 10, most: 14 };
/** Whoever is not protected by then is not overwritten: other faults are in the way. */
const protectedWithinMs = 60_000;
const tool = "tool";
const person = "kubectl-edit";
/** A tool that works in several goes takes so much in each: after the second one it is too much together. */
const shareOfGo = 1 / 3;
/** Between two of them, so that generators may come and go. */
const breakMs = { least: 20_000, most: 60_000 };
/** Until a person has been told and acts. */
const noticedMs = { least: 10_000, most: 90_000 };
/** The same person looks again, and says it again. */
const lookAgainMs = 20_000;
const tickMs = 1_000;

/** Which of the Deployments are brought back; the others are approved. */
type Outcome = (index: number) => boolean;
/** What the tool does. */
type Way = "replicas" | "shadow" | "off";

export class MassChanges {
  readonly #world: World;
  readonly #core: Core;
  readonly #draws: Draws;
  /** By name: the replicas that they had before. */
  readonly #former = new Map<string, number>();
  #way: Way = "replicas";
  #hasBegun = false;
  #isOver = false;

  constructor(world: World, core: Core) {
    this.#world = world;
    this.#core = core;
    this.#draws = new Draws(core.rng("mass changes"));
  }

  /** Once in a world: later changes would be compared with floors that were held before. */
  async act(): Promise<void> {
    const { plan, kernel } = this.#world;
    const { massChanges } = this.#core;
    // The release before this one holds nothing, and a core from a backup has not heard of what was changed.
    const isHeld = plan.hasGenerator && plan.upgrade === "none" && !plan.faults.has("restores");
    if (this.#hasBegun || !isHeld) return;
    this.#hasBegun = true;
    massChanges.isUnderWay = true;
    const others = plan.faults.has("modes") ? (["shadow", "off"] as const) : [];
    this.#way = new Draws(this.#core.rng("ways of mass changes")).oneOf<Way>("replicas", ...others);
    const count = this.#draws.whole(workloads.least, workloads.most);
    const names = Array.from({ length: count }, (_, index) => `mass-${index}`);
    await this.#createAll(names);
    if (await this.#waitUntil(protectedWithinMs, () => names.every((name) => this.#floorOf(name) > 0))) {
      await this.#overwriteAll(names);
      await this.#waitUntil(this.#draws.between(noticedMs.least, noticedMs.most), () => false);
      await this.#settle(names);
      this.#world.count("mass changes settled");
    }
    while (!names.every((name) => this.#isMet(name))) await kernel.pause(tickMs);
    massChanges.isUnderWay = false;
  }

  /** All is mended: who is waiting for something does so no longer. */
  end(): void {
    this.#isOver = true;
  }

  async #createAll(names: readonly string[]): Promise<void> {
    const { engine } = this.#core.server;
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: massNamespace } };
    await quietly(() => engine.create(namespaces, undefined, namespace));
    for (const name of names) {
      const own = { app: name };
      const replicas = this.#draws.whole(4, 12);
      this.#former.set(name, replicas);
      const spec = {
        replicas,
        selector: { matchLabels: own },
        template: { metadata: { labels: own }, spec: { containers: [{ name: "main", image: "mass:1" }] } },
      };
      const body = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name, labels: own }, spec };
      await quietly(() => engine.create(deployments, massNamespace, body));
    }
  }

  /** In one go, or in several: then generators may have forgotten the earlier ones. */
  async #overwriteAll(names: readonly string[]): Promise<void> {
    const { kernel } = this.#world;
    const { server, massChanges, protectors } = this.#core;
    massChanges.overwriting(server.engine.list(protectors, massNamespace).items);
    if (this.#way !== "replicas") {
      kernel.note(`a tool switches the namespace to ${this.#way}`);
      return await this.#label(this.#way, tool);
    }
    const perGo = this.#draws.chance(0.5) ? Math.ceil(names.length * shareOfGo) : names.length;
    for (const [index, name] of names.entries()) {
      const isLaterGo = index > 0 && index % perGo === 0;
      if (isLaterGo) await this.#waitUntil(this.#draws.between(breakMs.least, breakMs.most), () => false);
      kernel.note(`a tool takes the replicas of ${name}`);
      await this.#scale(name, 0, tool);
      await kernel.pause(this.#draws.between(0, tickMs / names.length));
    }
  }

  /** What a person wants of it, said until it is done. */
  async #settle(names: readonly string[]): Promise<void> {
    const { kernel } = this.#world;
    const { server, massChanges } = this.#core;
    const { engine } = server;
    const all = [(): boolean => true, (): boolean => false] as const;
    // A namespace has one label.
    const outcome = this.#draws.oneOf<Outcome>(...all, this.#way === "replicas" ? (index) => index % 2 === 0 : all[0]);
    const cause = this.#draws.oneOf(`manager/${tool}`, "*");
    massChanges.acted();
    for (let round = 0; ; round += 1) {
      if (this.#way !== "replicas" && outcome(0)) await this.#label(null, person);
      for (const [index, name] of names.entries()) {
        if (outcome(index) && this.#replicasOf(name) === 0)
          await this.#scale(name, this.#former.get(name) ?? 0, person);
      }
      const isDone = names.every((name, index) => this.#isMet(name) && (!outcome(index) || this.#replicasOf(name) > 0));
      if (isDone) return;
      kernel.note(`a person looks after the mass change, round ${round}`);
      if (names.some((_, index) => !outcome(index))) await quietly(() => approve(engine, cause, `planned ${round}`));
      await kernel.pause(lookAgainMs);
    }
  }

  async #scale(name: string, replicas: number, fieldManager: string): Promise<void> {
    const body: JsonObject = { spec: { replicas } };
    const patch = { contentType: "application/merge-patch+json", body };
    const { engine } = this.#core.server;
    await quietly(() => engine.patch(deployments, massNamespace, name, patch, { fieldManager }));
  }

  async #label(mode: string | null, fieldManager: string): Promise<void> {
    const body: JsonObject = { metadata: { labels: { [labels.mode]: mode } } };
    const patch = { contentType: "application/merge-patch+json", body };
    const { engine } = this.#core.server;
    await quietly(() => engine.patch(namespaces, undefined, massNamespace, patch, { fieldManager }));
  }

  /** Until then, or until the chaos is over. Whether it came to be. */
  async #waitUntil(limitMs: number, isThere: () => boolean): Promise<boolean> {
    const { kernel } = this.#world;
    const endMs = kernel.nowMs + limitMs;
    while (!this.#isOver && kernel.nowMs < endMs && !isThere()) await kernel.pause(tickMs);
    return !this.#isOver && isThere();
  }

  /**
   * There is a PodProtector, in the mode of the namespace, with a floor where replicas are asked for and with none
   * where they are not; or none where it is off.
   */
  #isMet(name: string): boolean {
    const { server, protectors } = this.#core;
    const { engine } = server;
    const found = engine.find(protectors, massNamespace, protectorNameOf(ofDeployments, name));
    const mode = engine.find(namespaces, undefined, massNamespace)?.metadata.labels?.[labels.mode];
    if (mode === "off" || found === undefined) return mode === "off" && found === undefined;
    const isInMode = shadowModeOf(found) === (mode ?? "enforced");
    return isInMode && this.#replicasOf(name) > 0 === this.#floorOf(name) > 0;
  }

  #replicasOf(name: string): number {
    const found = this.#core.server.engine.find(deployments, massNamespace, name);
    return numberIn(found, "replicas");
  }

  #floorOf(name: string): number {
    const { server, protectors } = this.#core;
    return numberIn(
      server.engine.find(protectors, massNamespace, protectorNameOf(ofDeployments, name)),
      "minAvailable",
    );
  }
}

function numberIn(object: KubeObject | undefined, field: string): number {
  return asNumber(object?.spec?.[field]) ?? 0;
}
