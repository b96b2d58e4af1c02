/**
 * The storage of one cluster: one revision counter for everything, the current objects of each resource, and a window
 * of past changes from which watches resume and former states are rebuilt. Knows nothing of HTTP, admission or meaning.
 */
import { type KubeObject, deepFreeze, withMetadata } from "./object.ts";
import { type ResourceType, groupResource } from "./resources.ts";

/** One committed change. A deletion carries the last state under the revision of the deletion. */
export interface Change {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly revision: number;
  readonly key: string;
  readonly object: KubeObject;
  /** The state before; undefined when the object was created. */
  readonly previous: KubeObject | undefined;
}

/** What a backup of etcd holds. */
export interface Backup {
  readonly revision: number;
  readonly tables: ReadonlyMap<string, ReadonlyMap<string, KubeObject>>;
}

interface Table {
  readonly objects: Map<string, KubeObject>;
  /** The same by key, from the first list on: lists come far more often than objects do. */
  sorted: [string, KubeObject][] | undefined;
  /** Changes in the order of their revisions. */
  changes: Change[];
  /** Every change at or below this revision has left the window. */
  floor: number;
  readonly listeners: Set<(change: Change) => void>;
}

function sortedByKey(objects: ReadonlyMap<string, KubeObject>): [string, KubeObject][] {
  return [...objects].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Where the key is, or where it would have to be inserted. */
function indexOfKey(sorted: readonly (readonly [string, KubeObject])[], key: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]![0] < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

function placeSorted(sorted: [string, KubeObject][], key: string, object: KubeObject): void {
  const index = indexOfKey(sorted, key);
  sorted.splice(index, sorted[index]?.[0] === key ? 1 : 0, [key, object]);
}

/** The index of the first change after `revision`. */
function firstAfter(changes: readonly Change[], revision: number): number {
  let low = 0;
  let high = changes.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (changes[middle]!.revision <= revision) low = middle + 1;
    else high = middle;
  }
  return low;
}

export class Store {
  readonly #tables = new Map<string, Table>();
  readonly #historyChangesMax: number;
  // A fresh etcd with the server's own objects is never at 0, which the API reserves for "any version".
  #revision = 1;

  /** `historyChangesMax`: changes kept per resource; watches from before them are answered with Expired. */
  constructor(historyChangesMax: number) {
    this.#historyChangesMax = historyChangesMax;
  }

  get revision(): number {
    return this.#revision;
  }

  #table(type: ResourceType): Table {
    const key = groupResource(type);
    let table = this.#tables.get(key);
    if (table === undefined) {
      table = { objects: new Map(), sorted: undefined, changes: [], floor: 0, listeners: new Set() };
      this.#tables.set(key, table);
    }
    return table;
  }

  get(type: ResourceType, key: string): KubeObject | undefined {
    return this.#table(type).objects.get(key);
  }

  /** The current objects in no particular order. */
  values(type: ResourceType): IterableIterator<KubeObject> {
    return this.#table(type).objects.values();
  }

  /** Stores a new state of the object under the next revision and returns it, frozen. */
  put(type: ResourceType, key: string, object: KubeObject): KubeObject {
    const table = this.#table(type);
    const previous = table.objects.get(key);
    this.#revision += 1;
    const { apiVersion, kind, metadata, ...rest } = object;
    // In this order, so that a list can leave out the first two as the real server does.
    const versioned = { ...metadata, resourceVersion: String(this.#revision) };
    const stored = deepFreeze({ apiVersion, kind, metadata: versioned, ...rest });
    table.objects.set(key, stored);
    if (table.sorted !== undefined) placeSorted(table.sorted, key, stored);
    this.#publish(table, {
      type: previous === undefined ? "ADDED" : "MODIFIED",
      revision: this.#revision,
      key,
      object: stored,
      previous,
    });
    return stored;
  }

  /** Removes the object; returns its last state, as `stamp` leaves it, under the revision of the deletion. */
  remove(type: ResourceType, key: string, stamp: (last: KubeObject) => KubeObject = (last) => last): KubeObject {
    const table = this.#table(type);
    const previous = table.objects.get(key);
    if (previous === undefined) throw new Error(`no object ${key} of ${groupResource(type)} to remove`);
    this.#revision += 1;
    const object = deepFreeze(withMetadata(stamp(previous), { resourceVersion: String(this.#revision) }));
    table.objects.delete(key);
    table.sorted?.splice(indexOfKey(table.sorted, key), 1);
    this.#publish(table, { type: "DELETED", revision: this.#revision, key, object, previous });
    return object;
  }

  #publish(table: Table, change: Change): void {
    table.changes.push(change);
    // Cut in one go at twice the limit, so that a change costs a constant on average.
    if (table.changes.length >= 2 * this.#historyChangesMax) {
      const dropped = table.changes.length - this.#historyChangesMax;
      table.floor = table.changes[dropped - 1]!.revision;
      table.changes = table.changes.slice(dropped);
    }
    for (const listener of table.listeners) listener(change);
  }

  /** Calls `listener` for each later change of the resource, within the commit; returns the unsubscriber. */
  subscribe(type: ResourceType, listener: (change: Change) => void): () => void {
    const { listeners } = this.#table(type);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** The oldest revision that changes can still be read from. */
  floor(type: ResourceType): number {
    return this.#table(type).floor;
  }

  /** The changes after `revision`; undefined when some of them have left the window. */
  changesAfter(type: ResourceType, revision: number): readonly Change[] | undefined {
    const table = this.#table(type);
    if (revision < table.floor) return undefined;
    if ((table.changes.at(-1)?.revision ?? 0) <= revision) return [];
    return table.changes.slice(firstAfter(table.changes, revision));
  }

  /** The objects, by key, as they were at `revision`, sorted by key; undefined when that has left the window. */
  snapshot(type: ResourceType, revision: number): [string, KubeObject][] | undefined {
    const later = this.changesAfter(type, revision);
    if (later === undefined) return undefined;
    const table = this.#table(type);
    if (later.length === 0) return (table.sorted ??= sortedByKey(table.objects)).slice();
    const objects = new Map(table.objects);
    for (const change of [...later].reverse()) {
      if (change.previous === undefined) objects.delete(change.key);
      else objects.set(change.key, change.previous);
    }
    return sortedByKey(objects);
  }

  backup(): Backup {
    const tables = [...this.#tables].map(([name, table]) => [name, new Map(table.objects)] as const);
    return { revision: this.#revision, tables: new Map(tables) };
  }

  /** Goes back to the backup; what was not there then is gone. Listeners stay and hear nothing of it. */
  restore({ revision, tables }: Backup): void {
    this.#revision = revision;
    for (const [name, table] of this.#tables) {
      table.objects.clear();
      table.sorted = undefined;
      for (const [key, object] of tables.get(name) ?? []) table.objects.set(key, object);
    }
    this.forgetHistory();
  }

  /** Forgets all past changes, as a compaction does: every resume from before now is answered with Expired. */
  forgetHistory(): void {
    for (const table of this.#tables.values()) {
      table.changes = [];
      table.floor = this.#revision;
    }
  }
}
