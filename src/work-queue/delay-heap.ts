/**
 * A binary heap of items that become due, each at most once. Items of the same moment come out in the order in which
 * they were set.
 */

/** What the heap keeps in each item; only the heap writes it. */
export interface Delayed {
  dueMs: number;
  /** Position in the heap; -1 when the item is not in it. */
  heapIndex: number;
  /** Breaks ties of `dueMs`. */
  heapSequence: number;
}

/** All operations take O(log n) steps; `nextDueMs` and `has` one. */
export class DelayHeap<Item extends Delayed> {
  readonly #items: Item[] = [];
  #sequence = 0;

  has(item: Item): boolean {
    return item.heapIndex >= 0;
  }

  /** When the first item is due; undefined when there is none. */
  get nextDueMs(): number | undefined {
    return this.#items[0]?.dueMs;
  }

  /** Adds `item`, or moves it forward; an earlier due time that it already has stays. */
  setEarliest(item: Item, dueMs: number): void {
    const isNew = !this.has(item);
    if (!isNew && item.dueMs <= dueMs) return;
    item.dueMs = dueMs;
    item.heapSequence = this.#sequence++;
    this.#rise(item, isNew ? this.#items.length : item.heapIndex);
  }

  /** Removes and returns the first item if it is due at `nowMs`. */
  takeDue(nowMs: number): Item | undefined {
    const first = this.#items[0];
    if (first === undefined || first.dueMs > nowMs) return undefined;
    const last = this.#items.pop()!;
    if (last !== first) this.#sink(last, 0);
    first.heapIndex = -1;
    return first;
  }

  /** Puts `item` at `index` or, when it is due before them, at the place of its ancestors. */
  #rise(item: Item, from: number): void {
    let index = from;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.#items[parentIndex]!;
      if (!isBefore(item, parent)) break;
      this.#put(parent, index);
      index = parentIndex;
    }
    this.#put(item, index);
  }

  /** Puts `item` at `index` or, when they are due before it, at the place of its descendants. */
  #sink(item: Item, from: number): void {
    let index = from;
    for (;;) {
      let childIndex = 2 * index + 1;
      const left = this.#items[childIndex];
      const right = this.#items[childIndex + 1];
      if (left === undefined) break;
      let child = left;
      if (right !== undefined && isBefore(right, left)) {
        child = right;
        childIndex++;
      }
      if (!isBefore(child, item)) break;
      this.#put(child, index);
      index = childIndex;
    }
    this.#put(item, index);
  }

  #put(item: Item, index: number): void {
    this.#items[index] = item;
    item.heapIndex = index;
  }
}

function isBefore(a: Delayed, b: Delayed): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.heapSequence < b.heapSequence);
}
