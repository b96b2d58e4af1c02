/**
 * Sources of all kinds in the checked namespaces and what becomes of them: people edit, deselect, delete and restore
 * them, and some are lost without anybody's doing. One of them is the workload's, where the world has a generator; the
 * others have no pods and are there for the generator alone (checkers/sources/).
 */
import { annotations } from "../../../src/api/v1alpha1/names.ts";
import { asObject, type JsonObject, type KubeObject } from "../../double/engine/object.ts";
import { builtInResources } from "../../double/engine/resources.ts";
import { Draws } from "../../support/draws.ts";
import { type KindOfSource, kindsOfSources, ofDeployments } from "../checkers/sources/kinds.ts";
import { namespace as ownNamespace, sourceNamespace } from "../clusters/namespaces.ts";
import { type Core } from "../core.ts";
import { type World } from "../world.ts";
import { FollowedProtectorOwner } from "./people/followed-protectors.ts";
import { type ProtectorOwner } from "./people/protectors.ts";
import { quietly } from "./quietly.ts";
import { drawEdit, drawOverrides, drawSpec, drawStatus, scaledTo } from "./source-specs.ts";

const { namespaces } = builtInResources;

/** One has the name of the workload's, in another namespace. */
const otherNames = ["web", "one", "two"] as const;
/** Where there are more kinds, so that budgets and people find them together; and what happens to them at a time. */
const fewNames = ["web", "one"] as const;
const moreEdits = 3;
/** Of a vanished or deselected source, until people notice it. */
const noticedMs = { least: 2_000, most: 40_000 };
/** Until people look again whether a source is gone. */
const lookAgainMs = 1_000;

interface Target {
  readonly kind: KindOfSource;
  readonly namespace: string;
  readonly name: string;
}

/** The workload's. */
export const ownTarget: Target = { kind: ofDeployments, namespace: ownNamespace, name: "web" };

export class SourceOwners {
  readonly #world: World;
  readonly #core: Core;
  readonly #owner: ProtectorOwner;
  readonly #draws: Draws;
  readonly #followed: FollowedProtectorOwner;
  #isOver = false;

  constructor(world: World, core: Core, owner: ProtectorOwner) {
    this.#world = world;
    this.#core = core;
    this.#owner = owner;
    this.#draws = new Draws(core.rng("sources"));
    this.#followed = new FollowedProtectorOwner(world, core, fewNames);
  }

  /** Somebody changes a source. */
  async edit(): Promise<void> {
    const { plan } = this.#world;
    if (!plan.hasGenerator) return;
    // There is more to do.
    if (plan.hasMoreSources) for (let edits = 0; edits < moreEdits; edits += 1) void this.#editMore();
    const isOwn = this.#draws.chance(0.3);
    await (isOwn ? this.#editOwn() : this.#editOther());
  }

  /** The same where nothing may disturb the workload. */
  async editInCalm(): Promise<void> {
    const { plan } = this.#world;
    if (!plan.hasGenerator) return;
    if (plan.hasMoreSources) void this.#editMore();
    await this.#editOther();
  }

  /** The core loses a source, and nobody is told. */
  async lose(): Promise<void> {
    const target = this.#draws.chance(0.4) ? ownTarget : this.#otherTarget();
    const { kernel } = this.#world;
    const { server } = this.#core;
    const lost = this.find(target);
    if (lost === undefined || !this.#world.plan.hasGenerator) return;
    kernel.note(`the core loses the ${target.kind.type.kind} ${target.namespace}/${target.name}`);
    server.engine.erase(target.kind.type, target.namespace, target.name);
    await kernel.pause(this.#draws.between(noticedMs.least, noticedMs.most));
    const isReleased = this.#draws.chance(0.2);
    if (isReleased && this.find(target) === undefined) await this.#release(target);
    if (isReleased) await kernel.pause(this.#draws.between(noticedMs.least, noticedMs.most));
    await this.#apply(target, lost);
  }

  /**
   * Sees to it, for ever, that everything is as it was planned: the workload's Deployment is there. A deletion that got
   * stuck on its way may still take the one that was made since.
   */
  async goHome(): Promise<never> {
    this.#isOver = true;
    for (;;) {
      if (!this.isHome) await this.#approachHome();
      await this.#world.kernel.pause(lookAgainMs);
    }
  }

  async #approachHome(): Promise<void> {
    const present = this.find(ownTarget);
    if (present === undefined) await this.#owner.createDeployment();
    else if (present.metadata.deletionTimestamp !== undefined) await this.patch(ownTarget, { spec: { replicas: 0 } });
    else await this.patch(ownTarget, { metadata: { labels: { unprotected: null } } });
  }

  /** The workload's Deployment asks for a PodProtector. */
  get isHome(): boolean {
    const present = this.find(ownTarget);
    if (!this.#world.plan.hasGenerator) return true;
    return (
      present !== undefined &&
      present.metadata.deletionTimestamp === undefined &&
      present.metadata.labels?.["unprotected"] !== "yes"
    );
  }

  find({ kind, namespace, name }: Target): KubeObject | undefined {
    return this.#core.server.engine.find(kind.type, namespace, name);
  }

  async patch({ kind, namespace, name }: Target, body: JsonObject): Promise<void> {
    const patch = { contentType: "application/merge-patch+json", body };
    await quietly(() => this.#core.server.engine.patch(kind.type, namespace, name, patch));
  }

  /** Deletes it, waits until it is gone, and makes it again after a while. */
  async deleteAndRestore(target: Target, before: () => Promise<void> = async () => {}): Promise<void> {
    const { kernel } = this.#world;
    const { server } = this.#core;
    const { kind, namespace, name } = target;
    const present = this.find(target);
    if (present === undefined) return;
    const propagationPolicy = this.#draws.oneOf("Background", "Foreground");
    await quietly(() => server.engine.delete(kind.type, namespace, name, { propagationPolicy }));
    // Nobody collects garbage in a core without workloads.
    if (propagationPolicy === "Foreground") await this.#collect(target);
    await before();
    while (!this.#isOver && this.find(target)?.metadata.deletionTimestamp !== undefined) {
      const spec = scaledTo(kind, 0);
      if (spec !== undefined) await this.patch(target, { spec });
      await kernel.pause(lookAgainMs);
    }
    await kernel.pause(this.#draws.between(noticedMs.least, noticedMs.most));
    await this.#apply(target, present);
  }

  async #editOwn(): Promise<void> {
    const { plan, kernel } = this.#world;
    const total = plan.podsPerCell * plan.cells.length;
    const draw = this.#draws.between(0, 1);
    if (draw < 0.1) {
      await this.patch(ownTarget, { metadata: { labels: { unprotected: "yes" } } });
      await kernel.pause(this.#draws.between(noticedMs.least, noticedMs.most));
      await this.patch(ownTarget, { metadata: { labels: { unprotected: null } } });
    } else if (draw < 0.2) await this.deleteAndRestore(ownTarget);
    else await this.patch(ownTarget, { spec: drawEdit(ofDeployments, this.#draws.whole(1, total + 1), this.#draws) });
  }

  async #editOther(): Promise<void> {
    const target = this.#otherTarget();
    const present = this.find(target);
    const draw = this.#draws.between(0, 1);
    if (present === undefined) await this.#create(target);
    else if (draw < 0.1) await this.patch(target, { metadata: { labels: { unprotected: "yes" } } });
    else if (draw < 0.3) await this.patch(target, { metadata: { labels: { unprotected: null } } });
    else if (draw < 0.4) await this.deleteAndRestore(target);
    else if (draw < 0.5) await this.#editProtector(target);
    else await this.patch(target, { spec: drawEdit(target.kind, this.#draws.whole(0, 12), this.#draws) });
  }

  /** Where there are more kinds: overrides, what custom controllers write, and hand-made PodProtectors. */
  async #editMore(): Promise<void> {
    const draw = this.#draws.between(0, 1);
    if (draw < 0.3) return await this.#followed.act();
    if (draw < 0.6) return await this.#editOther();
    const target = this.#otherTarget();
    const present = this.find(target);
    if (present === undefined) await this.#create(target);
    else if (draw < 0.85) await this.patch(target, { metadata: { annotations: drawOverrides(this.#draws) } });
    else await this.#writeStatus(target, drawStatus(target.kind, target.name, this.#draws));
  }

  /** What its controller says. Nobody else does. */
  async #writeStatus({ kind, namespace, name }: Target, status: JsonObject | undefined): Promise<void> {
    if (status === undefined) return;
    const patch = { contentType: "application/merge-patch+json", body: { status } };
    const { engine } = this.#core.server;
    await quietly(() => engine.patch(kind.type, namespace, name, patch, { subresource: "status" }));
  }

  /** Somebody edits what is generated. */
  async #editProtector(target: Target): Promise<void> {
    const { server, protectors, sources } = this.#core;
    const { namespace } = target;
    const protector = nameOfProtector(target);
    // By mistake: its source is there.
    if (this.#draws.chance(0.3)) return await this.#release(target);
    const minAvailable = this.#draws.whole(0, 12);
    const labels = { app: this.#draws.oneOf<string>(...otherNames), other: "yes" };
    const spec: JsonObject = this.#draws.chance(0.5) ? { minAvailable } : { selector: { matchLabels: labels } };
    sources.meddled(namespace, protector, `minAvailable ${minAvailable}`);
    sources.meddled(namespace, protector, "selector");
    const patch = { contentType: "application/merge-patch+json", body: { spec } };
    await quietly(() => server.engine.patch(protectors, namespace, protector, patch));
  }

  /** A person says that the workload of a source is really gone. */
  async #release(target: Target): Promise<void> {
    const { server, protectors, sources } = this.#core;
    const { namespace } = target;
    const protector = nameOfProtector(target);
    sources.meddled(namespace, protector, "release");
    const body = { metadata: { annotations: { [annotations.released]: "true" } } };
    const patch = { contentType: "application/merge-patch+json", body };
    await quietly(() => server.engine.patch(protectors, namespace, protector, patch));
  }

  /** The collector has deleted all dependents of a foreground deletion. */
  async #collect(target: Target): Promise<void> {
    for (;;) {
      const finalizers = this.find(target)?.metadata.finalizers ?? [];
      const left = finalizers.filter((name) => name !== "foregroundDeletion");
      if (left.length < finalizers.length) await this.patch(target, { metadata: { finalizers: left } });
      // The generator may have let go of it meanwhile, and then the patch would add a finalizer, which is refused.
      if (this.find(target)?.metadata.finalizers?.includes("foregroundDeletion") !== true) return;
      await this.#world.kernel.pause(lookAgainMs);
    }
  }

  /** Unless it is there again. */
  async #apply(target: Target, { metadata, spec, status }: KubeObject): Promise<void> {
    if (this.find(target) !== undefined) return;
    const { engine } = this.#core.server;
    const { labels = {}, annotations: set } = metadata;
    const { replicas, members } = asObject(spec);
    const isAtZero = replicas === 0 || members === 0;
    const body = {
      ...typeMetaOf(target),
      metadata: { name: target.name, labels, ...(set === undefined ? {} : { annotations: set }) },
      spec: { ...spec, ...(isAtZero ? scaledTo(target.kind, 1) : {}) },
    };
    await quietly(() => engine.create(target.kind.type, target.namespace, body));
    await this.#writeStatus(target, status);
  }

  async #create(target: Target): Promise<void> {
    const { engine } = this.#core.server;
    const { kind, namespace, name } = target;
    if (engine.find(namespaces, undefined, namespace) === undefined) {
      const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
      await quietly(() => engine.create(namespaces, undefined, body));
    }
    const labels = { app: name };
    const body = { ...typeMetaOf(target), metadata: { name, labels }, spec: drawSpec(kind, name, this.#draws) };
    await quietly(() => engine.create(kind.type, namespace, body));
    await this.#writeStatus(target, drawStatus(kind, name, this.#draws));
  }

  #otherTarget(): Target {
    const { plan } = this.#world;
    // The release before this one knows Deployments alone.
    const kinds = plan.upgrade === "none" ? kindsOfSources(plan) : [ofDeployments];
    const kind = this.#draws.pickAny(kinds) ?? ofDeployments;
    const names = plan.hasMoreSources ? fewNames : otherNames;
    return { kind, namespace: sourceNamespace, name: this.#draws.pick<string>(names) };
  }
}

function nameOfProtector({ kind, name }: Target): string {
  return `${kind.prefix}${name}`;
}

function typeMetaOf({ kind: { type } }: Target): { readonly apiVersion: string; readonly kind: string } {
  return { apiVersion: type.group === "" ? type.version : `${type.group}/${type.version}`, kind: type.kind };
}
