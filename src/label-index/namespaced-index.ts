/** One index per namespace: selectors only select pods of their own namespace. */
import { type LabelIndex } from "./label-index.ts";

/** A LabelIndex whose calls name the namespace. What is tracked in one is never found in another. */
export interface NamespacedIndex<Item, Query, Tracked, Index = LabelIndex<Item, Query, Tracked>> {
  /** The index of `namespace`; undefined when nothing is tracked in it. */
  in(namespace: string): Index | undefined;
  track(namespace: string, name: string, item: Item): Tracked;
  untrack(namespace: string, name: string): boolean;
  /** Whether anything is tracked in `namespace`. */
  has(namespace: string): boolean;
  /** The names within `namespace`, at most `max` (default: all). */
  query(namespace: string, query: Query, max?: number): string[];
}

/** `createIndex` makes the index of a namespace when its first name is tracked; a namespace without names has none. */
export function createNamespacedIndex<Item, Query, Tracked, Index extends object>(
  createIndex: () => Index & LabelIndex<Item, Query, Tracked>,
): NamespacedIndex<Item, Query, Tracked, Index> {
  const indexes = new Map<string, Index & LabelIndex<Item, Query, Tracked>>();
  return {
    in: (namespace) => indexes.get(namespace),
    track(namespace, name, item) {
      const index = indexes.get(namespace) ?? createIndex();
      const tracked = index.track(name, item);
      // A refused item leaves a new index empty.
      if (index.size > 0) indexes.set(namespace, index);
      return tracked;
    },
    untrack(namespace, name) {
      const index = indexes.get(namespace);
      if (index === undefined) return false;
      const existed = index.untrack(name);
      if (index.size === 0) indexes.delete(namespace);
      return existed;
    },
    has: (namespace) => indexes.has(namespace),
    query: (namespace, query, max) => indexes.get(namespace)?.query(query, max) ?? [],
  };
}
