/** A set that mostly has one member, such as the pods of a StatefulSet with equal labels: a Set takes 150 bytes. */
import { assert } from "../util/assert.ts";

export class SmallSet<T extends object | string> {
  /** The only member. */
  #one: T | undefined;
  /** All members, while there are several. */
  #all: Set<T> | undefined;

  get size(): number {
    return this.#all?.size ?? (this.#one === undefined ? 0 : 1);
  }

  add(item: T): void {
    if (this.#all !== undefined) {
      this.#all.add(item);
    } else if (this.#one === undefined) {
      this.#one = item;
    } else if (this.#one !== item) {
      this.#all = new Set([this.#one, item]);
      this.#one = undefined;
    }
  }

  /** Takes out what is in the set. */
  delete(item: T): void {
    if (this.#all === undefined) {
      assert(this.#one === item, "deleted an item that is not in the set");
      this.#one = undefined;
      return;
    }
    assert(this.#all.delete(item), "deleted an item that is not in the set");
    if (this.#all.size > 1) return;
    [this.#one] = this.#all;
    this.#all = undefined;
  }

  [Symbol.iterator](): Iterator<T> {
    return (this.#all ?? (this.#one === undefined ? [] : [this.#one]))[Symbol.iterator]();
  }
}
