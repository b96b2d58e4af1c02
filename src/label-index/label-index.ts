/** The contract of both indexes; test/unit/label-index/contract.ts tests it. */

/** Names with an item each; `query` finds the names whose item fits. A name has at most one item. */
export interface LabelIndex<Item, Query, Tracked> {
  /** Sets the item of `name`, replacing an earlier one. The index keeps no reference to what it is given. */
  track(name: string, item: Item): Tracked;
  /** Forgets `name` and frees what only it used; false when it was not tracked. */
  untrack(name: string): boolean;
  /**
   * Each fitting name once, at most `max` of them (1 or more, default: all): it looks no further then. The order is
   * unspecified, but the same history of calls gives the same order.
   */
  query(query: Query, max?: number): string[];
  /** Number of tracked names. */
  readonly size: number;
}
