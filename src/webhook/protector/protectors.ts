/**
 * The PodProtectors of one core, each as one object, and which of them count a pod: an index of the counting selectors
 * per namespace. Kept by the events of the informer, so there are as many as the core has, and besides those which are
 * gone without having been let go (tombstones.ts), and those which are deleted and still in use. Pods are judged only
 * after the whole initial list went through here (docs/webhook.md#readiness).
 *
 * An invalid object (an unknown operator, a malformed status) is named in the log, a metric and an Event, and stays in
 * force as unusable-protector.ts says. It never affects the others.
 */
import { cellsCountedByOthers } from "../../accounting/silence/other-counter.ts";
import { countingSelector } from "../../accounting/count/counting-selector.ts";
import { type ObjectKey, objectKey, partsOf } from "../../api/object-key.ts";
import { type Labels } from "../../api/pod.ts";
import { type CellStatus, type LabelSelector, type PodProtectorSpec } from "../../api/v1alpha1/pod-protector.ts";
import { type InformerEvent } from "../../kube/informer.ts";
import { createNamespacedIndex, createSelectorIndex } from "../../label-index/index.ts";
import { assert } from "../../util/assert.ts";
import { type Logger } from "../../util/logger.ts";
import { type Core } from "./core.ts";
import { type Marks, marksOf } from "./departure.ts";
import { Protector, type Unusable } from "./protector.ts";
import { viewOf, type WatchedProtector } from "./protector-view.ts";
import { Tombstones, type TombstonesOptions } from "./tombstones.ts";
import { printable } from "../../util/printable.ts";
import { outlineOf } from "./unusable-protector.ts";

export interface ProtectorsOptions {
  readonly core: Core;
  readonly logger: Logger;
  /** An aggregator has counted this cell; called again with each state that shows it. */
  readonly onCounted: (cellID: string) => void;
  /** A waiting write of this PodProtector may start sooner than it was planned. */
  readonly onSooner: (protector: Protector) => void;
  /** Called for each invalid state, with the reason; and with undefined when it is valid again, or gone. */
  readonly onUnusable: (protector: Protector, reason: string | undefined) => void;
  readonly tombstones: Omit<TombstonesOptions, "core" | "drop">;
}

const none: readonly never[] = [];

/**
 * Most PodProtectors of one core that are asked about a deletion. A pod has one or two: that of its workload, and one
 * made by hand. Each is one write after the other, of some 10 ms, so that 50 are done well before the API server gives
 * up.
 */
export const countingMax = 50;

export class Protectors {
  readonly core: Core;
  readonly #options: ProtectorsOptions;
  readonly #protectors = new Map<ObjectKey, Protector>();
  /** The names of those in force, by namespace. */
  readonly #index = createNamespacedIndex(createSelectorIndex);
  /** Those among them that do not judge by the default criterion. */
  readonly #withOwnCriterion = createNamespacedIndex(createSelectorIndex);
  readonly #tombstones: Tombstones;
  readonly #forget = (protector: Protector): void => {
    // A review may still hold one that is forgotten already, and another has its name since.
    if (this.#protectors.get(protector.key) === protector) this.#protectors.delete(protector.key);
  };

  /** Listens to the core's informer, which must not run yet. */
  constructor(options: ProtectorsOptions) {
    this.core = options.core;
    this.#options = options;
    const { core } = options;
    this.#tombstones = new Tombstones({ ...options.tombstones, core, drop: (key) => this.#drop(key) });
    core.informer.subscribe({
      onEvent: (event) => this.#onEvent(event),
      onListed: () => {
        core.definition.listed();
        this.#tombstones.listed();
      },
      onNotServed: () => core.definition.notServed(core.clock.monotonicMs()),
    });
  }

  /** Objects in memory. */
  get size(): number {
    return this.#protectors.size;
  }

  /** PodProtectors that are gone and not let go. */
  get tombstones(): number {
    return this.#tombstones.size;
  }

  /** Reads nothing more. */
  close(): void {
    this.#tombstones.close();
  }

  /**
   * Those in force that count a pod with these labels, in the order of their names. More than `countingMax` are not
   * gathered: one more stands for all the others.
   */
  matching(namespace: string, labels: Labels): readonly Protector[] {
    return this.#named(namespace, this.#index.query(namespace, labels, countingMax + 1));
  }

  /** Those of `matching`, the ones that are not gathered included, that have a criterion of their own. As many. */
  withOwnCriterion(namespace: string, labels: Labels): readonly Protector[] {
    return this.#named(namespace, this.#withOwnCriterion.query(namespace, labels, countingMax + 1));
  }

  #named(namespace: string, names: string[]): readonly Protector[] {
    if (names.length === 0) return none;
    return names.sort().map((name) => {
      const protector = this.#protectors.get(objectKey(namespace, name));
      assert(protector !== undefined, "the indexes and the PodProtectors are fed by the same events");
      return protector;
    });
  }

  /** Whether any is in force in the namespace. */
  isUsedIn(namespace: string): boolean {
    return this.#index.has(namespace);
  }

  #onEvent(event: InformerEvent<WatchedProtector>): void {
    const { key, resourceVersion } = event.object;
    if (event.type === "deleted") return this.#depart(event.object, event.isAbsent !== true);
    if (event.type === "modified" && event.isListed !== true) this.#seeCounters(event.previous, event.object);
    this.#take(event.object);
    for (const { cellID, aggregation } of cellsOf(event.object)) if (aggregation) this.#options.onCounted(cellID);
    const protector = this.#protectors.get(key);
    if (protector?.delivered(resourceVersion, cellsOf(event.object)) === true) this.#options.onSooner(protector);
  }

  /** An invalid state tells nothing of the counts. */
  #seeCounters(before: WatchedProtector, after: WatchedProtector): void {
    if (!before.content.ok) return;
    for (const cellID of cellsCountedByOthers(cellsOf(before), cellsOf(after))) this.core.cells.countedByOther(cellID);
  }

  #take({ key, uid, content }: WatchedProtector): void {
    const known = this.#protectors.get(key);
    this.#tombstones.forget(key);
    const read = content.ok ? viewOf(content.stored, known?.view) : content;
    if (!read.ok) {
      const outline = content.ok ? outlineOf(content.stored.protector) : content.outline;
      if (outline.marks.isReleased) return this.#drop(key);
      const { isShadow, selector } = outline;
      return this.#reject(known ?? this.#add(key), { uid, reason: printable(read.reason), isShadow }, selector);
    }
    const protector = known ?? this.#add(key);
    if (protector.unusable !== undefined) this.#options.onUnusable(protector, undefined);
    protector.watched(read.view);
    if (read.view.isReleased) this.#untrack(key);
    else this.#track(key, read.view.protector.spec);
  }

  #reject(protector: Protector, unusable: Unusable, selector: LabelSelector): void {
    const { key } = protector;
    const { reason } = unusable;
    if (protector.unusable?.reason !== reason) {
      const fields = { core: this.core.name, podProtector: key, reason };
      this.#options.logger.error("Invalid PodProtector, so pod deletions are denied", fields);
    }
    // What a valid state before asked for stays in force.
    const isNew = protector.view === undefined;
    protector.rejected(unusable);
    this.#options.onUnusable(protector, reason);
    if (isNew) this.#track(key, { selector });
  }

  #depart(object: WatchedProtector, isDeletionSeen: boolean): void {
    const { key, uid } = object;
    const protector = this.#protectors.get(key);
    if (protector === undefined) return;
    const marks = lastMarks(object);
    // A live read may have shown the mark before the watch.
    const isReleased = marks.isReleased || (protector.view?.uid === uid && protector.view.isReleased);
    if (!this.#tombstones.add(protector, uid, { ...marks, isReleased }, isDeletionSeen)) this.#drop(key);
  }

  #drop(key: ObjectKey): void {
    this.#tombstones.forget(key);
    this.#untrack(key);
    const protector = this.#protectors.get(key);
    if (protector?.unusable !== undefined) this.#options.onUnusable(protector, undefined);
    protector?.removed();
  }

  #add(key: ObjectKey): Protector {
    const protector = new Protector(this.core, key, this.#forget);
    this.#protectors.set(key, protector);
    return protector;
  }

  #track(key: ObjectKey, spec: Pick<PodProtectorSpec, "selector" | "aggregationSelector" | "healthCriterion">): void {
    const { namespace, name } = partsOf(key);
    const selector = countingSelector(spec);
    const tracked = this.#index.track(namespace, name, selector);
    assert(tracked.ok, "a selector that was compiled before");
    if (spec.healthCriterion === undefined) this.#withOwnCriterion.untrack(namespace, name);
    else this.#withOwnCriterion.track(namespace, name, selector);
  }

  #untrack(key: ObjectKey): void {
    const { namespace, name } = partsOf(key);
    this.#index.untrack(namespace, name);
    this.#withOwnCriterion.untrack(namespace, name);
  }
}

function lastMarks({ content }: WatchedProtector): Marks {
  return content.ok ? marksOf(content.stored.protector) : content.outline.marks;
}

function cellsOf({ content }: WatchedProtector): readonly CellStatus[] {
  return content.ok ? (content.stored.protector.status?.cells ?? none) : none;
}
