/**
 * The objects of an informer. Each change is a sequence of events. The store changes just before the event of that
 * change is taken from the sequence.
 */
import { type ObjectKey } from "../../api/object-key.ts";
import { type InformerEvent, type Stored } from "../informer.ts";

export class Store<T extends Stored> {
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
    if (previous !== undefined && previous.uid !== object.uid) yield* this.remove(object.key);
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
    yield final === undefined
      ? { type: "deleted", object: previous, isUnseen: true }
      : { type: "deleted", object: final };
  }

  /** Swaps the whole content at once, then yields the differences: first deletions, then additions and changes. */
  *replace(objects: Map<ObjectKey, T>): Generator<InformerEvent<T>, void, undefined> {
    const before = this.#objects;
    this.#objects = objects;
    for (const [key, previous] of before) {
      if (objects.get(key)?.uid !== previous.uid) yield { type: "deleted", object: previous, isUnseen: true };
    }
    for (const [key, object] of objects) {
      const previous = before.get(key);
      if (previous === undefined || previous.uid !== object.uid) yield { type: "added", object };
      else if (previous.resourceVersion !== object.resourceVersion)
        yield { type: "modified", object, previous, isListed: true };
    }
  }
}
