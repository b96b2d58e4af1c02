/**
 * Watches: resume from a version, bookmarks, WatchList, and a lag that can be set. Delivery is synchronous with the
 * commit unless there is a lag, and always in the order of commits.
 */
import { type Clock, type Timer } from "../../../../src/util/clock.ts";
import { type Rng, uniform } from "../../../../src/util/rng.ts";
import { type JsonObject, type KubeObject, objectKey, withMetadata } from "../object.ts";
import { type Selects, type SelectionQuery, compileSelection, listObjects, parseVersion } from "./list.ts";
import { type ResourceType, apiVersionOf } from "../resources.ts";
import { type Status, invalidListOptions, tooLargeVersion, tooOldVersion } from "../status.ts";
import { type Change, type Store } from "../store.ts";

export type WatchEvent =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: KubeObject }
  | { readonly type: "BOOKMARK"; readonly object: JsonObject }
  | { readonly type: "ERROR"; readonly object: Status };

export interface WatchQuery extends SelectionQuery {
  readonly allowWatchBookmarks?: boolean | undefined;
  readonly sendInitialEvents?: boolean | undefined;
  readonly timeoutSeconds?: number | undefined;
}

/** Who receives a watch. Must not call the engine from within `onEvent`, which may run inside a commit. */
export interface WatchSink {
  onEvent(event: WatchEvent): void;
  /** The server ends the stream: its timeout, or an ERROR event before. Not called after `close`. */
  onEnd(): void;
}

/** An open watch. */
export interface Watch {
  close(): void;
}

export interface WatchEnvironment {
  readonly store: Store;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly bookmarkPeriodMs: number;
}

// The server's default: a random time from 30 to 60 minutes, so that clients do not all come back at once.
const timeoutSecondsMin = 1800;
// This long before its timeout a watch gets its last bookmark, so that its client can go on from there.
const lastBookmarkBeforeEndMs = 2000;

function initialEvents(environment: WatchEnvironment, type: ResourceType, selects: Selects): WatchEvent[] {
  const { items } = listObjects(environment.store, type, undefined, {});
  return items.filter(selects).map((object) => ({ type: "ADDED", object }));
}

/** What a change means to somebody who sees only what `selects` says; undefined = nothing. */
function eventOf(change: Change, selects: Selects): WatchEvent | undefined {
  const { previous, object } = change;
  const before = previous !== undefined && selects(previous);
  const after = change.type !== "DELETED" && selects(object);
  if (after) return { type: before ? "MODIFIED" : "ADDED", object };
  if (!before) return undefined;
  if (change.type === "DELETED") return { type: "DELETED", object };
  // It left the selection: its last selected state, under the version that took it out.
  return { type: "DELETED", object: withMetadata(previous, { resourceVersion: object.metadata.resourceVersion }) };
}

function checkQuery(query: WatchQuery): void {
  const match = query.resourceVersionMatch ?? "";
  if (query.sendInitialEvents === undefined) {
    if (match !== "") {
      throw invalidListOptions(
        "resourceVersionMatch",
        "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
      );
    }
  } else if (match !== "NotOlderThan") {
    throw invalidListOptions(
      "resourceVersionMatch",
      "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
    );
  }
}

class OpenWatch implements Watch {
  readonly #environment: WatchEnvironment;
  readonly #type: ResourceType;
  readonly #sink: WatchSink;
  readonly #lagMs: () => number;
  readonly #queue: { readonly dueMs: number; readonly event: WatchEvent }[] = [];
  #unsubscribe: () => void = () => {};
  #delivery: Timer | undefined;
  #bookmark: Timer | undefined;
  #deadline: Timer | undefined;
  #closed = false;

  constructor(environment: WatchEnvironment, type: ResourceType, sink: WatchSink, lagMs: () => number) {
    this.#environment = environment;
    this.#type = type;
    this.#sink = sink;
    this.#lagMs = lagMs;
  }

  open(selects: Selects, query: WatchQuery, first: readonly WatchEvent[], after: number): void {
    const { store, clock, rng } = this.#environment;
    for (const event of first) this.#send(event, 0);
    const seconds = query.timeoutSeconds ?? uniform(rng, timeoutSecondsMin, 2 * timeoutSecondsMin);
    const endMs = clock.monotonicMs() + seconds * 1000;
    this.#deadline = clock.setTimer(seconds * 1000, () => this.#end());
    this.#unsubscribe = store.subscribe(this.#type, (change) => {
      if (change.revision <= after) return;
      const event = eventOf(change, selects);
      if (event !== undefined) this.#send(event, this.#lagMs());
    });
    if (query.allowWatchBookmarks === true) this.#scheduleBookmark(endMs - lastBookmarkBeforeEndMs);
  }

  /** Everything in `first`, then the end: a watch that cannot be served. */
  refuse(status: Status): void {
    this.#deadline = this.#environment.clock.setTimer(0, () => {
      this.#sink.onEvent({ type: "ERROR", object: status });
      this.#end();
    });
  }

  /** Once a period, and for the last time at `lastMs` of the monotonic clock. */
  #scheduleBookmark(lastMs: number): void {
    const { clock, store, bookmarkPeriodMs } = this.#environment;
    const delayMs = Math.min(bookmarkPeriodMs, lastMs - clock.monotonicMs());
    if (delayMs <= 0) return;
    this.#bookmark = clock.setTimer(delayMs, () => {
      this.#send(bookmarkEvent(this.#type, store.revision, false), this.#lagMs());
      this.#scheduleBookmark(lastMs);
    });
  }

  #send(event: WatchEvent, lagMs: number): void {
    if (this.#closed) return;
    if (lagMs <= 0 && this.#queue.length === 0) {
      this.#sink.onEvent(event);
      return;
    }
    const lastDueMs = this.#queue.at(-1)?.dueMs ?? 0;
    // A lag that was lowered must not let an event overtake another.
    this.#queue.push({ dueMs: Math.max(lastDueMs, this.#environment.clock.monotonicMs() + lagMs), event });
    this.#arm();
  }

  #arm(): void {
    const next = this.#queue[0];
    if (next === undefined || this.#delivery !== undefined) return;
    const { clock } = this.#environment;
    this.#delivery = clock.setTimer(Math.max(0, next.dueMs - clock.monotonicMs()), () => {
      this.#delivery = undefined;
      const nowMs = clock.monotonicMs();
      const later = this.#queue.findIndex((item) => item.dueMs > nowMs);
      const due = this.#queue.splice(0, later === -1 ? this.#queue.length : later);
      for (const { event } of due) if (!this.#closed) this.#sink.onEvent(event);
      if (!this.#closed) this.#arm();
    });
  }

  #end(): void {
    if (this.#closed) return;
    this.close();
    this.#sink.onEnd();
  }

  close(): void {
    this.#closed = true;
    this.#unsubscribe();
    for (const timer of [this.#delivery, this.#bookmark, this.#deadline]) timer?.cancel();
  }
}

function bookmarkEvent(type: ResourceType, revision: number, endsInitialEvents: boolean): WatchEvent {
  const annotations = { "k8s.io/initial-events-end": "true" };
  const metadata = {
    resourceVersion: String(revision),
    ...(endsInitialEvents ? { annotations } : {}),
  };
  return { type: "BOOKMARK", object: { kind: type.kind, apiVersion: apiVersionOf(type), metadata } };
}

/**
 * Opens a watch. Events may arrive before this returns. `lagMs` delays every change and bookmark by that much, as a
 * slow connection does. Throws 400, 422 and 500; a version that has left the history window, or is not there yet, is
 * answered by an ERROR event, as the real server does.
 */
export function openWatch(
  environment: WatchEnvironment,
  type: ResourceType,
  namespace: string | undefined,
  query: WatchQuery,
  sink: WatchSink,
  lagMs: () => number,
): Watch {
  checkQuery(query);
  const { store } = environment;
  const selects = compileSelection(type, namespace, query);
  const version = parseVersion(query.resourceVersion) ?? 0;
  const watch = new OpenWatch(environment, type, sink, lagMs);
  if (query.sendInitialEvents === true) {
    if (version > store.revision) {
      watch.refuse(tooLargeVersion(version, store.revision).status);
      return watch;
    }
    const end = query.allowWatchBookmarks === true ? [bookmarkEvent(type, store.revision, true)] : [];
    watch.open(selects, query, [...initialEvents(environment, type, selects), ...end], store.revision);
    return watch;
  }
  if (version === 0) {
    // With sendInitialEvents=false the watch starts "any time now", without the present state.
    const first = query.sendInitialEvents === false ? [] : initialEvents(environment, type, selects);
    // Here the watch cache says where the present state ends, asked or not.
    const saysEnd = query.sendInitialEvents === undefined && query.allowWatchBookmarks === true;
    watch.open(selects, query, saysEnd ? [...first, bookmarkEvent(type, store.revision, true)] : first, store.revision);
    return watch;
  }
  const changes = store.changesAfter(type, version);
  if (changes === undefined) {
    watch.refuse(tooOldVersion(version, store.floor(type)).status);
    return watch;
  }
  const first = changes.map((change) => eventOf(change, selects)).filter((event) => event !== undefined);
  watch.open(selects, query, first, Math.max(version, store.revision));
  return watch;
}

/** The key of an object that came by a watch. */
export function keyOfObject(object: KubeObject): string {
  return objectKey(object.metadata.namespace, object.metadata.name);
}
