/**
 * Which PodProtectors of one core count a pod: an index of the counting selectors per namespace, kept by the informer's events. A cell
 * of pods is judged only after the whole initial list went through here (design 3, point 4).
 *
 * An object that can no longer be understood (an unknown operator, a malformed status) stays in force as it was understood last; one that
 * never could be is named in the log and a metric and protects nothing. It never affects the others.
 */
import { type Labels } from "../api/pod.ts";
import { type Informer, type InformerEvent } from "../kube/informer.ts";
import { createNamespacedIndex, createSelectorIndex } from "../label-index/index.ts";
import { type Logger } from "../util/logger.ts";
import { type NewestStates } from "./newest-states.ts";
import { viewOf, type WatchedProtector } from "./protector-view.ts";

export interface ProtectorDirectory {
  /** True once the initial list has been indexed. */
  isSynced(): boolean;
  /** Why the directory cannot be relied on, for readiness; undefined = it can. */
  unreadyReason(): string | undefined;
  /** Keys (namespace/name) of the protectors in force that count a pod with these labels, in ascending order. */
  matching(namespace: string, labels: Labels): readonly string[];
}

export interface ProtectorDirectoryOptions {
  readonly core: string;
  /** Not running yet. */
  readonly informer: Informer<WatchedProtector>;
  /** Told of each state that the watch delivers. */
  readonly states: NewestStates;
  readonly logger: Logger;
  /** Counts an object that cannot be understood. */
  readonly onUnusable: () => void;
}

/**
 * Longest silence of a watch before the replica steps aside. Bookmarks come once a minute, and a lost connection is noticed after
 * two and a half; twice that means that reconnecting fails as well.
 */
const silentMsMax = 300_000;

export function createProtectorDirectory(options: ProtectorDirectoryOptions): ProtectorDirectory {
  const { core, informer, states, logger, onUnusable } = options;
  const index = createNamespacedIndex(createSelectorIndex);

  function drop(key: string): void {
    index.untrack(...splitKey(key));
    states.removed(key);
  }

  function reject(object: WatchedProtector, reason: string): void {
    onUnusable();
    logger.error("A PodProtector cannot be used; what it asked for before stays in force", {
      core,
      podProtector: object.key,
      reason,
    });
  }

  function take(object: WatchedProtector): void {
    if (!object.content.ok) return reject(object, object.content.reason);
    const read = viewOf(object.content.stored, states.get(object.key));
    if (!read.ok) return reject(object, read.reason);
    states.watched(read.view);
    const [namespace, name] = splitKey(object.key);
    if (read.view.isReleased) {
      index.untrack(namespace, name);
      return;
    }
    const { aggregationSelector, selector } = read.view.protector.spec;
    const tracked = index.track(namespace, name, aggregationSelector ?? selector);
    if (!tracked.ok) reject(object, tracked.reason);
  }

  informer.subscribe({
    onEvent(event: InformerEvent<WatchedProtector>) {
      if (event.type === "deleted") drop(event.object.key);
      else take(event.object);
    },
  });

  return {
    isSynced: () => informer.hasSynced(),
    unreadyReason() {
      if (!informer.hasSynced()) {
        const error = informer.lastError();
        return `PodProtector informer of ${core} is not synced yet${error === undefined ? "" : `: ${error}`}`;
      }
      const silentMs = informer.silentMs();
      if (silentMs <= silentMsMax) return undefined;
      return `nothing heard from ${core} for ${Math.round(silentMs / 1000)} s: ${informer.lastError() ?? "the watch is silent"}`;
    },
    matching: (namespace, labels) =>
      index
        .query(namespace, labels)
        .map((name) => `${namespace}/${name}`)
        .sort(),
  };
}

function splitKey(key: string): [namespace: string, name: string] {
  const slash = key.indexOf("/");
  return [key.slice(0, slash), key.slice(slash + 1)];
}
