/**
 * The contract of an informer: a local copy of one resource, kept current by list and watch. Implemented by watch/.
 *
 * What it promises. Handlers are called one event at a time, in the order of the server's versions, after the store has
 * been changed, never re-entrantly, and not at all after the signal aborted. Between two relists no version of an
 * object is skipped. A relist swaps the store atomically, so that it is never seen half-filled; objects that vanished
 * meanwhile are reported as deleted. `version()` is progress: everything up to it has been
 * delivered to the handlers; it is undefined until the initial list is complete (for a WatchList until
 * `initial-events-end`), and bookmarks advance it.
 */
import { type ObjectKey } from "../api/object-key.ts";
import { type ResourceVersion } from "../api/resource-version.ts";

/** What an informer stores. */
export interface Stored {
  readonly key: ObjectKey;
  readonly uid: string;
  readonly resourceVersion: ResourceVersion;
}

export type InformerEvent<T extends Stored> =
  | { readonly type: "added"; readonly object: T }
  /** `isListed`: it came in a list, so there may have been versions between `previous` and `object`. */
  | { readonly type: "modified"; readonly object: T; readonly previous: T; readonly isListed?: true }
  /**
   * `object` is its last state. `isAbsent`: no deletion was seen. It is not in a list any more, or replaced under its
   * name, or cannot be read; `object` is then the last state seen.
   */
  | { readonly type: "deleted"; readonly object: T; readonly isAbsent?: true };

export interface InformerHandler<T extends Stored> {
  /** Synchronous and cheap. An object that was replaced under its name (other UID) arrives as deleted, then added. */
  onEvent(event: InformerEvent<T>): void;
  /** The progress has moved: after an event, a bookmark or a list. */
  onProgress?(version: ResourceVersion): void;
  /**
   * A (re)list has been applied and all its events delivered; `isFirst` on the initial one. `changed`: the objects of
   * these events, where no version of any other was missed; undefined = versions of all may have been missed.
   */
  onListed?(isFirst: boolean, changed: ReadonlySet<ObjectKey> | undefined): void;
  /**
   * The server answers that it does not know the resource: its CRD is gone. Called for each such answer, until
   * `onListed`. The store stays as it is, because nobody knows what became of the objects.
   */
  onNotServed?(): void;
  /** The server answers that it is forbidden to list or watch the resource. Called for each such answer. */
  onForbidden?(): void;
}

export interface Informer<T extends Stored> {
  get(key: ObjectKey): T | undefined;
  values(): IterableIterator<T>;
  readonly size: number;
  /** True once the handlers have processed the whole initial list; stays true afterwards. */
  hasSynced(): boolean;
  version(): ResourceVersion | undefined;
  /**
   * Milliseconds since news of the objects last came (event, bookmark or complete list, not headers or half a list);
   * Infinity before the first list.
   */
  stalenessMs(): number;
  /** The last failure while it lasts, for people: "cannot list pods: 403 Forbidden …". */
  lastError(): string | undefined;
  /**
   * The watch has failed, and no news of the objects have come since: it may be answered again, but what happened in
   * between is still on its way.
   */
  isCatchingUp(): boolean;
  /** Adds a handler; only before `run`. */
  subscribe(handler: InformerHandler<T>): void;
  /**
   * Drops the watch and the resume version and lists again (worker history reset). The store stays in place until the
   * list has arrived. A random pause comes first, which grows when lists are asked for again and again; not with
   * `isPaced`, of a caller that limits by itself how often it asks, and knows of no reset: it gets the list that is on
   * its way, if there is one.
   */
  relist(options?: { readonly isPaced: boolean }): void;
  /** Lists and watches until the signal aborts; never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

/**
 * Turns a raw object of a list or watch into what is stored (the transform hook: keep little). Undefined = an invalid
 * object: it is counted, logged with its name, and treated as absent, and the stream continues.
 */
export type Decode<T extends Stored> = (raw: unknown) => T | undefined;
