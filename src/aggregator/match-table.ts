/**
 * Which pods of the cell each PodProtector counts, and which of them it protects (docs/aggregator.md#matching). It is
 * kept incrementally: an event costs what it changes, not the number of pods. A change of labels touches the protectors
 * of the old and the new labels.
 */
import { countingSelector } from "../accounting/count/counting-selector.ts";
import { type ObjectKey } from "../api/object-key.ts";
import { type PodRecord } from "../api/pod.ts";
import { type PodProtector } from "../api/v1alpha1/pod-protector.ts";
import {
  type CompiledSelector,
  compileSelector,
  createLabelSetIndex,
  createNamespacedIndex,
  createSelectorIndex,
  formatSelector,
  matches,
} from "../label-index/index.ts";

interface Match {
  readonly namespace: string;
  /** JSON of the selectors. Most events of a protector are status writes, which do not change them. */
  readonly source: string;
  /** Which of the counted pods it protects; undefined = all. */
  readonly protecting: CompiledSelector | undefined;
  /** Canonical text of the counting selector. */
  readonly selectorText: string;
  readonly podKeys: Set<ObjectKey>;
}

type Tracked =
  | { readonly ok: true; readonly selectorText: string }
  /** `reason`: why the selector is invalid. */
  | { readonly ok: false; readonly reason: string; readonly selectorText: string | undefined };

/** The names in both indexes are keys: of protectors in the first, of pods in the second. */
export class MatchTable {
  readonly #selectors = createNamespacedIndex(createSelectorIndex);
  readonly #labelSets = createNamespacedIndex(createLabelSetIndex);
  readonly #matches = new Map<ObjectKey, Match>();
  readonly #protectorsOfPod = new Map<ObjectKey, readonly ObjectKey[]>();
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
    const podKeys = new Set(this.#labelSets.query(namespace, compiled.selector) as ObjectKey[]);
    const protecting = protectingSelector(protector);
    this.#matches.set(key, { namespace, source, protecting, selectorText, podKeys });
    for (const podKey of podKeys) {
      this.#protectorsOfPod.set(podKey, [...(this.#protectorsOfPod.get(podKey) ?? []), key]);
      this.#onMatch(podKey);
    }
    return { ok: true, selectorText };
  }

  untrackProtector(key: ObjectKey): void {
    const match = this.#matches.get(key);
    if (match === undefined) return;
    this.#matches.delete(key);
    this.#selectors.untrack(match.namespace, key);
    for (const podKey of match.podKeys) {
      const rest = (this.#protectorsOfPod.get(podKey) ?? []).filter((other) => other !== key);
      if (rest.length === 0) this.#protectorsOfPod.delete(podKey);
      else this.#protectorsOfPod.set(podKey, rest);
      this.#onMatch(podKey);
    }
  }

  /** The pod is new or has other labels than `previous`. Returns the protectors whose counts it may change. */
  podChanged(pod: PodRecord, previous: PodRecord | undefined): readonly ObjectKey[] {
    const before = this.#protectorsOfPod.get(pod.key) ?? [];
    if (previous !== undefined && previous.labels === pod.labels) return before;
    this.#labelSets.track(pod.namespace, pod.key, pod.labels);
    const after = this.#selectors.query(pod.namespace, pod.labels) as ObjectKey[];
    for (const key of before) this.#matches.get(key)?.podKeys.delete(pod.key);
    for (const key of after) this.#matches.get(key)?.podKeys.add(pod.key);
    if (after.length === 0) this.#protectorsOfPod.delete(pod.key);
    else this.#protectorsOfPod.set(pod.key, after);
    return before.length === 0 ? after : [...new Set([...before, ...after])];
  }

  /** The pod is gone. Returns the protectors that counted it. */
  podDeleted(pod: PodRecord): readonly ObjectKey[] {
    const before = this.#protectorsOfPod.get(pod.key) ?? [];
    this.#labelSets.untrack(pod.namespace, pod.key);
    for (const key of before) this.#matches.get(key)?.podKeys.delete(pod.key);
    this.#protectorsOfPod.delete(pod.key);
    return before;
  }

  /** Protectors that are tracked: those with a valid selector. */
  get size(): number {
    return this.#matches.size;
  }

  /** Whether a protector protects this pod. */
  protects({ key, labels }: Pick<PodRecord, "key" | "labels">): boolean {
    return (this.#protectorsOfPod.get(key) ?? []).some((protector) => {
      const protecting = this.#matches.get(protector)?.protecting;
      return protecting === undefined || matches(protecting, labels);
    });
  }

  /** Whether the protector has a valid selector, and counts no pod of the cell. */
  countsNone(key: ObjectKey): boolean {
    return this.#matches.get(key)?.podKeys.size === 0;
  }

  /** Keys of the pods that the protector counts. */
  podKeysOf(key: ObjectKey): Iterable<ObjectKey> {
    return this.#matches.get(key)?.podKeys ?? [];
  }
}

/** With one selector for both, and where the one that protects is invalid, all counted pods are protected. */
function protectingSelector({ spec }: PodProtector): CompiledSelector | undefined {
  if (spec.aggregationSelector === undefined) return undefined;
  const compiled = compileSelector(spec.selector);
  return compiled.ok ? compiled.selector : undefined;
}
