/**
 * The objects of one resource as a controller sees them, with an index by controlling owner. Live: it follows each
 * commit at once.
 */
import { type Engine } from "../engine/engine.ts";
import { type KubeObject, type OwnerReference } from "../engine/object.ts";
import { type ResourceType } from "../engine/resources.ts";
import { type Watch, keyOfObject } from "../engine/requests/watch.ts";

/** The owner that manages the object. */
export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((owner) => owner.controller === true);
}

/** `object` is the new state, or the last one when it is gone. Must not call the engine: it runs inside a commit. */
export type CacheListener = (object: KubeObject, gone: boolean) => void;

const none: ReadonlyMap<string, KubeObject> = new Map();

export class ObjectCache {
  readonly #engine: Engine;
  readonly #type: ResourceType;
  readonly #objects = new Map<string, KubeObject>();
  readonly #byOwner = new Map<string, Map<string, KubeObject>>();
  readonly #listeners: CacheListener[] = [];
  #watch: Watch | undefined;

  constructor(engine: Engine, type: ResourceType) {
    this.#engine = engine;
    this.#type = type;
  }

  /** Only before `start`. */
  subscribe(listener: CacheListener): void {
    this.#listeners.push(listener);
  }

  /** Fills the cache and follows the resource until `stop`. */
  start(): void {
    this.#watch = this.#engine.watch(
      this.#type,
      undefined,
      {},
      {
        onEvent: (event) => {
          if (event.type === "ADDED" || event.type === "MODIFIED") this.#apply(event.object, false);
          else if (event.type === "DELETED") this.#apply(event.object, true);
        },
        // The server ends a watch after half an hour or more; what is known stays right, so start afresh.
        onEnd: () => this.start(),
      },
    );
  }

  stop(): void {
    this.#watch?.close();
  }

  get(key: string): KubeObject | undefined {
    return this.#objects.get(key);
  }
  values(): IterableIterator<KubeObject> {
    return this.#objects.values();
  }
  /** The objects that the owner of this UID controls. */
  ownedBy(uid: string): KubeObject[] {
    return [...(this.#byOwner.get(uid) ?? none).values()];
  }

  #apply(object: KubeObject, gone: boolean): void {
    const key = keyOfObject(object);
    const before = this.#objects.get(key);
    const previousOwner = before === undefined ? undefined : controllerOf(before)?.uid;
    if (previousOwner !== undefined) {
      const owned = this.#byOwner.get(previousOwner);
      owned?.delete(key);
      if (owned?.size === 0) this.#byOwner.delete(previousOwner);
    }
    if (gone) this.#objects.delete(key);
    else {
      this.#objects.set(key, object);
      const owner = controllerOf(object)?.uid;
      if (owner !== undefined) {
        const owned = this.#byOwner.get(owner) ?? new Map<string, KubeObject>();
        owned.set(key, object);
        this.#byOwner.set(owner, owned);
      }
    }
    for (const listener of this.#listeners) listener(object, gone);
  }
}
