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
import { type ProtectorOwner } from "./protectors.ts";
import { quietly } from "./quietly.ts";

const { namespaces } = builtInResources;

/** One has the name of the workload's, in another namespace. */
const otherNames = ["web", "one", "two"] as const;
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
  #isOver = false;

  constructor(world: World, core: Core, owner: ProtectorOwner) {
    this.#world = world;
    this.#core = core;
    this.#owner = owner;
    this.#draws = new Draws(core.rng("sources"));
  }

  /** Somebody changes a source. */
  async edit(): Promise<void> {
    if (!this.#world.plan.hasGenerator) return;
    const isOwn = this.#draws.chance(0.3);
    await (isOwn ? this.#editOwn() : this.#editOther());
  }

  /** The same where nothing may disturb the workload. */
  async editInCalm(): Promise<void> {
    if (this.#world.plan.hasGenerator) await this.#editOther();
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

  /** Everything is as it was planned again: the workload's Deployment is there. Ends when it is. */
  async goHome(): Promise<void> {
    this.#isOver = true;
    if (!this.#world.plan.hasGenerator) return;
    while (!this.isHome) {
      const present = this.find(ownTarget);
      if (present === undefined) await this.#owner.createDeployment();
      else if (present.metadata.deletionTimestamp !== undefined) await this.patch(ownTarget, { spec: { replicas: 0 } });
      else await this.patch(ownTarget, { metadata: { labels: { unprotected: null } } });
      await this.#world.kernel.pause(lookAgainMs);
    }
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
      await this.patch(target, { spec: { replicas: 0 } });
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
    else await this.patch(ownTarget, { spec: this.#edited(ownTarget, this.#draws.whole(1, total + 1)) });
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
    else await this.patch(target, { spec: this.#edited(target, this.#draws.whole(0, 12)) });
  }

  #edited({ kind }: Target, replicas: number): JsonObject {
    const draws = this.#draws;
    const share = draws.oneOf<unknown>(0, 1, 2, "0%", "10%", "25%", "29%", "50%", "100%");
    const surge = draws.oneOf<unknown>(0, 1, "0%", "25%");
    const draw = draws.between(0, 1);
    if (draw < 0.35) return { replicas };
    if (draw >= 0.8 && draw < 0.95) return { minReadySeconds: draws.whole(0, 10) };
    if (kind.type.kind === "StatefulSet") return { updateStrategy: this.#updateStrategy(share) };
    if (kind !== ofDeployments) return { replicas };
    if (draw < 0.8)
      return { strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: share, maxSurge: surge } } };
    return { strategy: { type: "Recreate", rollingUpdate: null } };
  }

  /** Of a StatefulSet. */
  #updateStrategy(maxUnavailable: unknown): JsonObject {
    const draws = this.#draws;
    if (draws.chance(0.25)) return { type: "OnDelete", rollingUpdate: null };
    const rollingUpdate = { maxUnavailable: draws.chance(0.3) ? null : maxUnavailable, partition: draws.whole(0, 3) };
    return { type: "RollingUpdate", rollingUpdate };
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
  async #apply(target: Target, { metadata, spec }: KubeObject): Promise<void> {
    if (this.find(target) !== undefined) return;
    const { engine } = this.#core.server;
    const { replicas } = asObject(spec);
    const body = {
      ...typeMetaOf(target),
      metadata: { name: target.name, labels: metadata.labels ?? {} },
      spec: { ...spec, replicas: replicas === 0 ? 1 : replicas },
    };
    await quietly(() => engine.create(target.kind.type, target.namespace, body));
  }

  async #create(target: Target): Promise<void> {
    const { engine } = this.#core.server;
    const { kind, namespace, name } = target;
    if (engine.find(namespaces, undefined, namespace) === undefined) {
      const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
      await quietly(() => engine.create(namespaces, undefined, body));
    }
    const labels = { app: name };
    const spec = {
      replicas: this.#draws.whole(0, 12),
      ...(this.#draws.chance(0.5) ? { minReadySeconds: this.#draws.whole(1, 10) } : {}),
      selector: kind.type.kind === "ReplicationController" ? labels : { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "web:1" }] } },
    };
    const body = { ...typeMetaOf(target), metadata: { name, labels }, spec };
    await quietly(() => engine.create(kind.type, namespace, body));
  }

  #otherTarget(): Target {
    // The release before this one knows Deployments alone.
    const kinds = this.#world.plan.upgrade === "none" ? kindsOfSources : [ofDeployments];
    const kind = this.#draws.pickAny(kinds) ?? ofDeployments;
    return { kind, namespace: sourceNamespace, name: this.#draws.oneOf<string>(...otherNames) };
  }
}

function nameOfProtector({ kind, name }: Target): string {
  return `${kind.prefix}${name}`;
}

function typeMetaOf({ kind: { type } }: Target): { readonly apiVersion: string; readonly kind: string } {
  return { apiVersion: type.group === "" ? type.version : `${type.group}/${type.version}`, kind: type.kind };
}
