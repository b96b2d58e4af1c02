/**
 * Garbage collector: deletes what has lost all its owners, and carries out orphaning and foreground deletions of
 * workloads.
 */
import { type Caller } from "../engine/admission.ts";
import { type Engine } from "../engine/engine.ts";
import { type KubeObject, type OwnerReference } from "../engine/object.ts";
import { type ResourceType, builtInResources as types } from "../engine/resources.ts";
import { isApiError } from "../engine/status.ts";
import { keyOfObject } from "../engine/requests/watch.ts";
import { KeyedQueue } from "./keyed-queue.ts";
import { type ObjectCache } from "./object-cache.ts";

const collectorCaller: Caller = {
  username: "system:serviceaccount:kube-system:generic-garbage-collector",
  groups: ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
};

/** The resources that the collector looks after, by a short name for its keys. */
export interface Collected {
  readonly type: ResourceType;
  readonly cache: ObjectCache;
}

export class GarbageCollector {
  readonly #engine: Engine;
  readonly #collected: ReadonlyMap<string, Collected>;
  readonly #queue: KeyedQueue;

  constructor(engine: Engine, collected: readonly Collected[], backoffMaxMs: number) {
    this.#engine = engine;
    this.#collected = new Map(collected.map((item) => [item.type.resource, item]));
    this.#queue = new KeyedQueue({ clock: engine.clock, backoffMaxMs, process: (key) => this.#sync(key) });
    for (const { type, cache } of collected) {
      cache.subscribe((object, gone) => {
        if (!gone) this.#add(type, object);
        if (gone || object.metadata.deletionTimestamp !== undefined) this.#addDependents(object.metadata.uid);
        // An owner that waits for its dependents looks again when one goes.
        if (gone) this.#addOwners(object);
      });
    }
  }

  stop(): void {
    this.#queue.stop();
  }

  #add(type: ResourceType, object: KubeObject): void {
    this.#queue.add(`${type.resource}:${keyOfObject(object)}`);
  }
  #dependents(uid: string): { type: ResourceType; object: KubeObject }[] {
    return [...this.#collected.values()].flatMap(({ type, cache }) =>
      cache.ownedBy(uid).map((object) => ({ type, object })),
    );
  }
  #addDependents(uid: string): void {
    for (const { type, object } of this.#dependents(uid)) this.#add(type, object);
  }
  #addOwners(object: KubeObject): void {
    for (const owner of object.metadata.ownerReferences ?? []) {
      const type = this.#engine.typeOfKind(owner.apiVersion, owner.kind);
      if (type !== undefined) this.#queue.add(`${type.resource}:${object.metadata.namespace}/${owner.name}`);
    }
  }

  async #sync(id: string): Promise<void> {
    const resource = id.slice(0, id.indexOf(":"));
    const found = this.#collected.get(resource);
    const object = found?.cache.get(id.slice(resource.length + 1));
    if (found === undefined || object === undefined) return;
    const { deletionTimestamp, finalizers, ownerReferences } = object.metadata;
    if (deletionTimestamp !== undefined) {
      if (finalizers?.includes("orphan") === true) await this.#orphan(found.type, object);
      else if (finalizers?.includes("foregroundDeletion") === true) await this.#foreground(found.type, object);
    } else if (ownerReferences !== undefined && ownerReferences.every((owner) => this.#isGone(owner, object))) {
      await this.#delete(found.type, object, "Background");
    }
  }

  #isGone(reference: OwnerReference, dependent: KubeObject): boolean {
    const type = this.#engine.typeOfKind(reference.apiVersion, reference.kind);
    // What cannot be looked up may exist.
    if (type === undefined) return false;
    const namespace = type.namespaced ? dependent.metadata.namespace : undefined;
    return this.#engine.find(type, namespace, reference.name)?.metadata.uid !== reference.uid;
  }

  async #orphan(type: ResourceType, owner: KubeObject): Promise<void> {
    for (const { type: dependentType, object } of this.#dependents(owner.metadata.uid)) {
      const ownerReferences = (object.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== owner.metadata.uid);
      await this.#patch(dependentType, object, {
        ownerReferences: ownerReferences.length === 0 ? null : ownerReferences,
      });
    }
    await this.#release(type, owner, "orphan");
  }

  async #foreground(type: ResourceType, owner: KubeObject): Promise<void> {
    const dependents = this.#dependents(owner.metadata.uid);
    for (const { type: dependentType, object } of dependents) {
      if (object.metadata.deletionTimestamp === undefined) await this.#delete(dependentType, object, "Foreground");
    }
    if (this.#dependents(owner.metadata.uid).length === 0) await this.#release(type, owner, "foregroundDeletion");
  }

  async #release(type: ResourceType, object: KubeObject, finalizer: string): Promise<void> {
    const finalizers = (object.metadata.finalizers ?? []).filter((name) => name !== finalizer);
    await this.#patch(type, object, { finalizers });
  }

  async #patch(type: ResourceType, object: KubeObject, metadata: Readonly<Record<string, unknown>>): Promise<void> {
    const { namespace, name, uid } = object.metadata;
    const patch = { contentType: "application/merge-patch+json", body: { metadata: { uid, ...metadata } } };
    await this.#unlessGone(this.#engine.patch(type, namespace, name, patch, { caller: collectorCaller }));
  }

  async #delete(type: ResourceType, object: KubeObject, propagationPolicy: string): Promise<void> {
    const { namespace, name, uid } = object.metadata;
    // A pod has no dependents to wait for.
    const options = {
      preconditions: { uid },
      propagationPolicy: type === types.pods ? "Background" : propagationPolicy,
    };
    await this.#unlessGone(this.#engine.delete(type, namespace, name, options, { caller: collectorCaller }));
  }

  async #unlessGone(request: Promise<unknown>): Promise<void> {
    try {
      await request;
    } catch (error) {
      if (!isApiError(error, "NotFound")) throw error;
    }
  }
}
