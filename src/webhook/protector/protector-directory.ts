/**
 * Which PodProtectors of one core count a pod: an index of the counting selectors per namespace, kept by the informer's
 * events. A cell of pods is judged only after the whole initial list went through here (design 3, point 4).
 *
 * An object that cannot be understood (an unknown operator, a malformed status) is named in the log, a metric and an
 * Event, and stays in force as unusable-protector.ts says. It never affects the others.
 */
import { type ObjectKey, partsOf } from "../../api/object-key.ts";
import { type Labels } from "../../api/pod.ts";
import { type LabelSelector } from "../../api/v1alpha1/pod-protector.ts";
import { type Informer, type InformerEvent } from "../../kube/informer.ts";
import { createNamespacedIndex, createSelectorIndex } from "../../label-index/index.ts";
import { assert } from "../../util/assert.ts";
import { type Logger } from "../../util/logger.ts";
import { type NewestStates } from "./newest-states.ts";
import { viewOf, type WatchedProtector } from "./protector-view.ts";
import { outlineOf, printable } from "./unusable-protector.ts";

export interface ProtectorDirectory {
  /** True once the initial list has been indexed. */
  isSynced(): boolean;
  /** Why the directory cannot be relied on, for readiness; undefined = it can. */
  unreadyReason(): string | undefined;
  /** Milliseconds since the watch delivered anything; Infinity before the first list, and while the watch is broken. */
  silentMs(): number;
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
  /** Whether a replica steps aside when the watch has been silent for minutes; else it goes on by what it knew last. */
  readonly isUnreadyWhenSilent: boolean;
  /** Called for each state of an object that the watch has delivered, after `states` was told. */
  readonly onWatched: (object: WatchedProtector) => void;
  /**
   * Called for each state of an object that cannot be understood, with the reason; and with undefined when it can be
   * again, or has gone.
   */
  readonly onUnusable: (object: Pick<WatchedProtector, "key" | "uid">, reason: string | undefined) => void;
}

/**
 * Longest silence of a watch before the replica steps aside. Bookmarks come once a minute, and a lost connection is
 * noticed after two and a half; twice that means that reconnecting fails as well.
 */
const silentMsMax = 300_000;

export function createProtectorDirectory(options: ProtectorDirectoryOptions): ProtectorDirectory {
  const { core, informer, states, logger, isUnreadyWhenSilent, onWatched, onUnusable } = options;
  const index = createNamespacedIndex(createSelectorIndex);

  function drop({ key, uid }: WatchedProtector): void {
    index.untrack(...splitKey(key));
    if (states.unusable(key) !== undefined) onUnusable({ key, uid }, undefined);
    states.removed(key);
  }

  function track(key: ObjectKey, selector: LabelSelector): void {
    const tracked = index.track(...splitKey(key), selector);
    assert(tracked.ok, "a selector that was compiled before");
  }

  function reject(object: WatchedProtector, reason: string): void {
    const { key, uid, content } = object;
    const { selector, isReleased } = content.ok ? outlineOf(content.stored.protector) : content.outline;
    if (isReleased) return drop(object);
    if (states.unusable(key)?.reason !== reason) {
      logger.error("A PodProtector cannot be understood, so it admits no pod deletion", {
        core,
        podProtector: key,
        reason,
      });
    }
    onUnusable({ key, uid }, reason);
    states.rejected(key, { uid, reason });
    // What it asked for when it was understood stays in force.
    if (states.get(key) === undefined) track(key, selector);
  }

  function take(object: WatchedProtector): void {
    const { key, uid, content } = object;
    const read = content.ok ? viewOf(content.stored, states.get(key)) : content;
    if (!read.ok) return reject(object, printable(read.reason));
    if (states.unusable(key) !== undefined) onUnusable({ key, uid }, undefined);
    states.watched(read.view);
    const { aggregationSelector, selector } = read.view.protector.spec;
    if (read.view.isReleased) index.untrack(...splitKey(key));
    else track(key, aggregationSelector ?? selector);
  }

  informer.subscribe({
    onEvent(event: InformerEvent<WatchedProtector>) {
      if (event.type === "deleted") drop(event.object);
      else {
        take(event.object);
        onWatched(event.object);
      }
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
      if (silentMs <= silentMsMax || !isUnreadyWhenSilent) return undefined;
      return `nothing heard from ${core} for ${Math.round(silentMs / 1000)} s: ${informer.lastError() ?? "the watch is silent"}`;
    },
    silentMs: () => (informer.lastError() === undefined ? informer.silentMs() : Number.POSITIVE_INFINITY),
    matching: (namespace, labels) =>
      index
        .query(namespace, labels)
        .map((name) => `${namespace}/${name}`)
        .sort(),
  };
}

function splitKey(key: ObjectKey): [namespace: string, name: string] {
  const { namespace, name } = partsOf(key);
  return [namespace, name];
}
