/**
 * Which pods of the cell each PodProtector counts, and which of them it protects (docs/aggregator.md#matching). It is
 * kept incrementally: an event costs what it changes, not the number of pods. A change of labels touches the protectors
 * of the old and the new labels.
 */
import { countingSelector } from "../../accounting/count/counting-selector.ts";
import { type ObjectKey } from "../../api/object-key.ts";
import { type PodRecord } from "../../api/pod.ts";
import { type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import {
  type CompiledSelector,
  compileSelector,
  createLabelSetIndex,
  createNamespacedIndex,
  createSelectorIndex,
  formatSelector,
  type LabelSet,
  matches,
} from "../../label-index/index.ts";

interface Match {
  readonly namespace: string;
  /** JSON of the selectors. Most events of a protector are status writes, which do not change them. */
  readonly source: string;
  /** Which of the counted pods it protects; undefined = all. */
  readonly protecting: CompiledSelector | undefined;
  /** Canonical text of the counting selector. */
  readonly selectorText: string;
  /** Those that it selects. Pods with equal labels share one. */
  readonly labelSets: Set<LabelSet>;
}

type Tracked =
  | { readonly ok: true; readonly selectorText: string }
  /** `reason`: why the selector is invalid. */
  | { readonly ok: false; readonly reason: string; readonly selectorText: string | undefined };

const none: readonly ObjectKey[] = [];

/**
 * The names in both indexes are keys: of protectors in the first, of pods in the second. What matches what is kept for
 * each label set, which most pods share with others.
 */
export class MatchTable {
  readonly #selectors = createNamespacedIndex(createSelectorIndex);
  readonly #labelSets = createNamespacedIndex(createLabelSetIndex);
  readonly #matches = new Map<ObjectKey, Match>();
  /** Of each label set that a pod has, `none` included. */
  readonly #protectorsOf = new Map<LabelSet, readonly ObjectKey[]>();
  readonly #onMatch: (podKey: ObjectKey) => void;

  /** `onMatch`: a protector has begun or ceased to count the pod, or protects others than before. */
  constructor(onMatch: (podKey: ObjectKey) => void = () => {}) {
    this.#onMatch = onMatch;
  }

  /**
   * Tracks the protector. Returns the canonical text of its counting selector. An invalid one changes nothing: the last
   * valid one, if there was any, stays in force (`selectorText`), as it does in webhooks.
   */
  trackProtector(key: ObjectKey, protector: PodProtector): Tracked {
    const { namespace } = protector.metadata;
    const selector = countingSelector(protector.spec);
    const source = JSON.stringify([selector, protector.spec.selector]);
    const tracked = this.#matches.get(key);
    if (tracked?.source === source) return { ok: true, selectorText: tracked.selectorText };
    const compiled = compileSelector(selector);
    if (!compiled.ok) return { ...compiled, selectorText: tracked?.selectorText };
    const selectorText = formatSelector(compiled.selector);
    this.untrackProtector(key);
    this.#selectors.track(namespace, key, selector);
    const labelSets = new Set(this.#labelSets.in(namespace)?.labelSets(compiled.selector));
    const protecting = protectingSelector(protector);
    this.#matches.set(key, { namespace, source, protecting, selectorText, labelSets });
    for (const labelSet of labelSets) {
      this.#protectorsOf.set(labelSet, [...this.#protectorsOfSet(labelSet).filter((other) => other !== key), key]);
      this.#matchChanged(labelSet);
    }
    return { ok: true, selectorText };
  }

  untrackProtector(key: ObjectKey): void {
    const match = this.#matches.get(key);
    if (match === undefined) return;
    this.#matches.delete(key);
    this.#selectors.untrack(match.namespace, key);
    for (const labelSet of match.labelSets) {
      const rest = (this.#protectorsOf.get(labelSet) ?? none).filter((other) => other !== key);
      this.#protectorsOf.set(labelSet, rest.length === 0 ? none : rest);
      this.#matchChanged(labelSet);
    }
  }

  /** The pod is new or has other labels than `previous`. Returns the protectors whose counts it may change. */
  podChanged(pod: PodRecord, previous: PodRecord | undefined): readonly ObjectKey[] {
    const { key, namespace, labels } = pod;
    const labelSetBefore = this.#labelSetOf(pod);
    const before = this.#protectorsOfSet(labelSetBefore);
    if (previous !== undefined && previous.labels === pod.labels) return before;
    const labelSet = this.#labelSets.track(namespace, key, labels);
    if (labelSet === labelSetBefore) return before;
    this.#left(labelSetBefore);
    let after = this.#protectorsOf.get(labelSet);
    if (after === undefined) {
      // A copy takes no more memory than it needs.
      after = [...(this.#selectors.query(namespace, labels) as ObjectKey[])];
      this.#protectorsOf.set(labelSet, after.length === 0 ? none : after);
      for (const protector of after) this.#matches.get(protector)?.labelSets.add(labelSet);
    }
    return before.length === 0 ? after : [...new Set([...before, ...after])];
  }

  /** The pod is gone. Returns the protectors that counted it. */
  podDeleted(pod: Pick<PodRecord, "key" | "namespace">): readonly ObjectKey[] {
    const labelSet = this.#labelSetOf(pod);
    const before = this.#protectorsOfSet(labelSet);
    this.#labelSets.untrack(pod.namespace, pod.key);
    this.#left(labelSet);
    return before;
  }

  /**
   * Makes anew what is kept of the protector and of pods that are wrong in it (self-check.ts): each with its record, or
   * undefined when it is gone. Returns the protectors whose counts that may change.
   */
  rebuild(
    key: ObjectKey,
    protector: PodProtector,
    wrong: ReadonlyMap<ObjectKey, PodRecord | undefined>,
  ): ReadonlySet<ObjectKey> {
    const { namespace } = protector.metadata;
    const changed = new Set([key]);
    for (const [podKey, pod] of wrong) {
      for (const other of this.podDeleted({ key: podKey, namespace })) changed.add(other);
      if (pod !== undefined) for (const other of this.podChanged(pod, undefined)) changed.add(other);
      this.#onMatch(podKey);
    }
    this.untrackProtector(key);
    this.trackProtector(key, protector);
    return changed;
  }

  /** Protectors that are tracked: those with a valid selector. */
  get size(): number {
    return this.#matches.size;
  }

  /** Whether a protector protects this pod. */
  protects(pod: Pick<PodRecord, "key" | "namespace" | "labels">): boolean {
    return this.#protectorsOfSet(this.#labelSetOf(pod)).some((protector) => {
      const protecting = this.#matches.get(protector)?.protecting;
      return protecting === undefined || matches(protecting, pod.labels);
    });
  }

  /** Whether the protector has a valid selector, and counts no pod of the cell. */
  countsNone(key: ObjectKey): boolean {
    return this.#matches.get(key)?.labelSets.size === 0;
  }

  /** Keys of the pods that the protector counts. */
  *podKeysOf(key: ObjectKey): Iterable<ObjectKey> {
    for (const { names } of this.#matches.get(key)?.labelSets ?? []) yield* names as Iterable<ObjectKey>;
  }

  #labelSetOf({ namespace, key }: Pick<PodRecord, "key" | "namespace">): LabelSet | undefined {
    return this.#labelSets.in(namespace)?.labelSetOf(key);
  }

  #protectorsOfSet(labelSet: LabelSet | undefined): readonly ObjectKey[] {
    return labelSet === undefined ? none : (this.#protectorsOf.get(labelSet) ?? none);
  }

  /** A pod has this label set no longer. With its last pod it ends. */
  #left(labelSet: LabelSet | undefined): void {
    if (labelSet === undefined || labelSet.names.size > 0) return;
    for (const protector of this.#protectorsOfSet(labelSet)) this.#matches.get(protector)?.labelSets.delete(labelSet);
    this.#protectorsOf.delete(labelSet);
  }

  #matchChanged({ names }: LabelSet): void {
    for (const podKey of names) this.#onMatch(podKey as ObjectKey);
  }
}

/** With one selector for both, and where the one that protects is invalid, all counted pods are protected. */
function protectingSelector({ spec }: PodProtector): CompiledSelector | undefined {
  if (spec.aggregationSelector === undefined) return undefined;
  const compiled = compileSelector(spec.selector);
  return compiled.ok ? compiled.selector : undefined;
}
