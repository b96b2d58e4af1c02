/**
 * What an informer knows: store, version and sync state. What the server sent is applied first, then the handlers are
 * called.
 */
import { type ObjectKey, objectKey } from "../../api/object-key.ts";
import { compareResourceVersions, type ResourceVersion } from "../../api/resource-version.ts";
import { type Logger } from "../../util/logger.ts";
import { type Decode, type InformerEvent, type InformerHandler, type Stored } from "../informer.ts";
import { type RawObject, type WatchFrame } from "./watch-stream.ts";

export type ObjectFrame = Exclude<WatchFrame, { readonly type: "bookmark" }>;

export class Cache<T extends Stored> {
  readonly store = new Store<T>();
  readonly handlers: InformerHandler<T>[] = [];
  /** The handlers have processed a whole list. */
  isSynced = false;
  /** Everything up to it has been delivered to the handlers. */
  version: ResourceVersion | undefined;
  #isStopped = false;
  readonly #decode: Decode<T>;
  readonly #logger: Logger;
  readonly #countDecodeError: () => void;

  constructor(decode: Decode<T>, logger: Logger, countDecodeError: () => void) {
    this.#decode = decode;
    this.#logger = logger;
    this.#countDecodeError = countDecodeError;
  }

  /** From now on nothing is delivered to the handlers. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Adds a listed object to `objects`, which `replace` takes later. */
  stage(objects: Map<ObjectKey, T>, raw: unknown): void {
    const object = this.#decoded(raw);
    if (object !== undefined) objects.set(object.key, object);
  }

  /** Like `stage`, for an event between the initial ones of a WatchList. */
  stageFrame(objects: Map<ObjectKey, T>, frame: ObjectFrame): void {
    if (frame.type === "deleted") objects.delete(rawKey(frame.object));
    else this.stage(objects, frame.object);
  }

  /**
   * Swaps the content for a complete list made at `version`. A lower version than before is taken as it is: the history
   * was reset.
   * @param isIntact no version was missed before the list was asked for
   */
  replace(objects: Map<ObjectKey, T>, version: ResourceVersion, isIntact: boolean): void {
    const changed = new Set<ObjectKey>();
    let isSameHistory = isIntact;
    if (this.version !== undefined && compareResourceVersions(version, this.version) < 0) {
      this.#logger.warn("The list is older than the cache: the server's history was reset, or the server lags behind", {
        listVersion: version,
        knownVersion: this.version,
      });
      // The old version promises more than the new content holds.
      this.version = undefined;
      isSameHistory = false;
    }
    this.#emit(noting(this.store.replace(objects), changed));
    if (this.#isStopped) return;
    const isFirst = !this.isSynced;
    this.#advance(version);
    this.isSynced = true;
    for (const handler of this.handlers) {
      if (!this.#isStopped) handler.onListed?.(isFirst, isSameHistory ? changed : undefined);
    }
  }

  /** Applies a frame of a watch; one at or below the version has been applied before (sent again after a reconnect). */
  apply(frame: WatchFrame): void {
    if (this.version !== undefined && compareResourceVersions(frame.version, this.version) <= 0) return;
    if (frame.type !== "bookmark") this.#emit(this.#eventsOf(frame));
    if (!this.#isStopped) this.#advance(frame.version);
  }

  /** The server does not know the resource. */
  notServed(): void {
    for (const handler of this.handlers) {
      if (!this.#isStopped) handler.onNotServed?.();
    }
  }

  /** The account may not list or watch the resource. */
  forbidden(): void {
    for (const handler of this.handlers) {
      if (!this.#isStopped) handler.onForbidden?.();
    }
  }

  #eventsOf(frame: ObjectFrame): Generator<InformerEvent<T>, void, undefined> {
    const object = this.#decoded(frame.object);
    if (frame.type === "deleted") {
      const key = object?.key ?? rawKey(frame.object);
      return this.store.remove(key, object);
    }
    return object === undefined ? this.store.forget(rawKey(frame.object)) : this.store.upsert(object);
  }

  #emit(events: Iterable<InformerEvent<T>>): void {
    for (const event of events) {
      for (const handler of this.handlers) {
        if (this.#isStopped) return;
        handler.onEvent(event);
      }
    }
  }

  #advance(version: ResourceVersion): void {
    this.version = version;
    for (const handler of this.handlers) {
      if (!this.#isStopped) handler.onProgress?.(version);
    }
  }

  #decoded(raw: unknown): T | undefined {
    const object = this.#decode(raw);
    if (object === undefined) {
      this.#countDecodeError();
      this.#logger.warn("Invalid object, treated as absent", { key: rawKey(raw) });
    }
    return object;
  }
}

function* noting<E extends InformerEvent<Stored>>(events: Iterable<E>, keys: Set<ObjectKey>): Iterable<E> {
  for (const event of events) {
    keys.add(event.object.key);
    yield event;
  }
}

/** The key of an object that could not be decoded. */
function rawKey(raw: unknown): ObjectKey {
  const metadata = (raw as RawObject | null | undefined)?.metadata;
  const namespace = typeof metadata?.namespace === "string" ? metadata.namespace : "";
  return objectKey(namespace, String(metadata?.name));
}

/**
 * The objects of an informer. Each change is a sequence of events. The store changes just before the event of that
 * change is taken from the sequence.
 */
class Store<T extends Stored> {
  #objects = new Map<ObjectKey, T>();

  get size(): number {
    return this.#objects.size;
  }

  get(key: ObjectKey): T | undefined {
    return this.#objects.get(key);
  }

  values(): IterableIterator<T> {
    return this.#objects.values();
  }

  /**
   * Adds or changes an object; one that has the name but not the UID of a stored one replaces it (deleted, then added).
   */
  *upsert(object: T): Generator<InformerEvent<T>, void, undefined> {
    const previous = this.#objects.get(object.key);
    if (previous !== undefined && previous.uid !== object.uid) yield* this.forget(object.key);
    this.#objects.set(object.key, object);
    yield previous !== undefined && previous.uid === object.uid
      ? { type: "modified", object, previous }
      : { type: "added", object };
  }

  /** Removes an object if it is there. `final`: its last state; undefined = the stored one. */
  *remove(key: ObjectKey, final?: T): Generator<InformerEvent<T>, void, undefined> {
    const previous = this.#objects.get(key);
    if (previous === undefined) return;
    this.#objects.delete(key);
    yield { type: "deleted", object: final ?? previous };
  }

  /** Removes an object that nobody has seen deleted. */
  *forget(key: ObjectKey): Generator<InformerEvent<T>, void, undefined> {
    const previous = this.#objects.get(key);
    if (previous === undefined) return;
    this.#objects.delete(key);
    yield { type: "deleted", object: previous, isAbsent: true };
  }

  /** Swaps the whole content at once, then yields the differences: first deletions, then additions and changes. */
  *replace(objects: Map<ObjectKey, T>): Generator<InformerEvent<T>, void, undefined> {
    const before = this.#objects;
    this.#objects = objects;
    for (const [key, previous] of before) {
      if (objects.get(key)?.uid !== previous.uid) yield { type: "deleted", object: previous, isAbsent: true };
    }
    for (const [key, object] of objects) {
      const previous = before.get(key);
      if (previous === undefined || previous.uid !== object.uid) yield { type: "added", object };
      else if (previous.resourceVersion !== object.resourceVersion)
        yield { type: "modified", object, previous, isListed: true };
    }
  }
}
