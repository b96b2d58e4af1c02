/**
 * Which pods of the cell each PodProtector counts (docs/aggregator.md#matching). It is kept incrementally: an event
 * costs what it changes, not the number of pods. A change of labels touches the protectors of the old and the new
 * labels.
 */
import { countingSelector } from "../accounting/count/counting-selector.ts";
import { type ObjectKey } from "../api/object-key.ts";
import { type PodRecord } from "../api/pod.ts";
import { type PodProtector } from "../api/v1alpha1/pod-protector.ts";
import {
  compileSelector,
  createLabelSetIndex,
  createNamespacedIndex,
  createSelectorIndex,
  formatSelector,
} from "../label-index/index.ts";

interface Match {
  readonly namespace: string;
  /** JSON of the counting selector. Most events of a protector are status writes, which do not change it. */
  readonly source: string;
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

  /**
   * Tracks the protector. Returns the canonical text of its counting selector. An invalid one changes nothing: the last
   * valid one, if there was any, stays in force (`selectorText`), as it does in webhooks.
   */
  trackProtector(key: ObjectKey, protector: PodProtector): Tracked {
    const { namespace } = protector.metadata;
    const selector = countingSelector(protector.spec);
    const source = JSON.stringify(selector);
    const tracked = this.#matches.get(key);
    if (tracked?.source === source) return { ok: true, selectorText: tracked.selectorText };
    const compiled = compileSelector(selector);
    if (!compiled.ok) return { ...compiled, selectorText: tracked?.selectorText };
    const selectorText = formatSelector(compiled.selector);
    this.untrackProtector(key);
    this.#selectors.track(namespace, key, selector);
    const podKeys = new Set(this.#labelSets.query(namespace, compiled.selector) as ObjectKey[]);
    this.#matches.set(key, { namespace, source, selectorText, podKeys });
    for (const podKey of podKeys)
      this.#protectorsOfPod.set(podKey, [...(this.#protectorsOfPod.get(podKey) ?? []), key]);
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

  /** Keys of the pods that the protector counts. */
  podKeysOf(key: ObjectKey): Iterable<ObjectKey> {
    return this.#matches.get(key)?.podKeys ?? [];
  }
}
