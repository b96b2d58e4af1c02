/**
 * Finds the label sets that match a selector, for a PodProtector's pods.
 *
 * Pods of one workload mostly share their labels, so equal label sets are kept once, with the names that have them. A
 * query checks a label set once for all its pods, and the posting lists (by key, and by key and value) hold label sets
 * instead of pods. A query takes the shortest candidate list that one of its positive requirements offers, and checks
 * the whole selector on each candidate.
 */
import { type Labels } from "../api/pod.ts";
import { matches, type CompiledSelector, type KeyRequirement } from "./canonical-selector.ts";
import { type LabelIndex } from "./label-index.ts";
import { SmallSet } from "./small-set.ts";

/** `track` takes the labels of a pod and returns its label set, `query` takes a compiled selector. */
export interface LabelSetIndex extends LabelIndex<Labels, CompiledSelector, LabelSet> {
  /** The label set of a tracked name. */
  labelSetOf(name: string): LabelSet | undefined;
  /** Each fitting label set once. */
  labelSets(selector: CompiledSelector): LabelSet[];
}

/** One for all names with equal labels, as long as there is one: whoever keeps something for each keeps it once. */
export interface LabelSet {
  /** The names that have it; empty when it is no longer in use. */
  readonly names: Iterable<string> & { readonly size: number };
}

interface SharedLabels extends LabelSet {
  /** Equal label sets have equal text. */
  readonly text: string;
  readonly labels: Labels;
  readonly names: SmallSet<string>;
}

/** The label sets that have a key, by its value. */
interface Postings {
  /** How many they are. */
  count: number;
  readonly byValue: Map<string, SmallSet<SharedLabels>>;
}

/** Lists of label sets; every match is in one of them. Empty lists are left out. */
type Candidates = readonly Iterable<SharedLabels>[];

export function createLabelSetIndex(): LabelSetIndex {
  const sharedByName = new Map<string, SharedLabels>();
  const sharedByText = new Map<string, SharedLabels>();
  const postingsByKey = new Map<string, Postings>();

  function untrack(name: string): boolean {
    const shared = sharedByName.get(name);
    if (shared === undefined) return false;
    sharedByName.delete(name);
    shared.names.delete(name);
    if (shared.names.size === 0) {
      sharedByText.delete(shared.text);
      removePostings(postingsByKey, shared);
    }
    return true;
  }

  function* fitting(selector: CompiledSelector): Generator<SharedLabels, void, undefined> {
    if (selector.kind === "nothing") return;
    for (const list of candidates(selector.requirements, postingsByKey) ?? [sharedByText.values()]) {
      for (const shared of list) if (matches(selector, shared.labels)) yield shared;
    }
  }

  return {
    track(name, labels) {
      const text = textOf(labels);
      const before = sharedByName.get(name);
      if (before?.text === text) return before;
      untrack(name);
      let shared = sharedByText.get(text);
      if (shared === undefined) {
        shared = { text, labels: Object.isFrozen(labels) ? labels : { ...labels }, names: new SmallSet() };
        sharedByText.set(text, shared);
        addPostings(postingsByKey, shared);
      }
      shared.names.add(name);
      sharedByName.set(name, shared);
      return shared;
    },
    untrack,
    query(selector, max = Infinity) {
      const names: string[] = [];
      for (const shared of fitting(selector)) {
        for (const name of shared.names) {
          names.push(name);
          if (names.length >= max) return names;
        }
      }
      return names;
    },
    labelSetOf: (name) => sharedByName.get(name),
    labelSets: (selector) => [...fitting(selector)],
    get size() {
      return sharedByName.size;
    },
  };
}

/** Lengths keep apart what would otherwise read the same. */
function textOf(labels: Labels): string {
  let text = "";
  for (const key of Object.keys(labels).sort()) {
    const value = labels[key]!;
    text += `${key.length}:${key}${value.length}:${value}`;
  }
  return text;
}

/** The fewest candidates that one requirement leaves; undefined when no requirement is positive. */
function candidates(
  requirements: readonly KeyRequirement[],
  postingsByKey: ReadonlyMap<string, Postings>,
): Candidates | undefined {
  let best: Candidates | undefined;
  let bestCount = Infinity;
  for (const requirement of requirements) {
    if (requirement.kind === "notIn" || requirement.kind === "absent") continue;
    const postings = postingsByKey.get(requirement.key);
    if (postings === undefined) return [];
    const count = countOf(requirement, postings);
    if (count >= bestCount) continue;
    best = listsOf(requirement, postings);
    bestCount = count;
  }
  return best;
}

type PositiveRequirement = KeyRequirement & { readonly kind: "is" | "in" | "exists" };

function countOf(requirement: PositiveRequirement, { count, byValue }: Postings): number {
  if (requirement.kind === "exists") return count;
  if (requirement.kind === "is") return byValue.get(requirement.value)?.size ?? 0;
  let sum = 0;
  for (const value of requirement.values) sum += byValue.get(value)?.size ?? 0;
  return sum;
}

/** One label set has one value of the key, so the lists of different values never share a member. */
function listsOf(requirement: PositiveRequirement, { byValue }: Postings): Candidates {
  if (requirement.kind === "exists") return [...byValue.values()];
  const values = requirement.kind === "is" ? [requirement.value] : [...requirement.values];
  return values.map((value) => byValue.get(value) ?? []);
}

function addPostings(postingsByKey: Map<string, Postings>, shared: SharedLabels): void {
  for (const key of Object.keys(shared.labels)) {
    const value = shared.labels[key]!;
    let postings = postingsByKey.get(key);
    if (postings === undefined) {
      postings = { count: 0, byValue: new Map() };
      postingsByKey.set(key, postings);
    }
    postings.count++;
    let list = postings.byValue.get(value);
    if (list === undefined) {
      list = new SmallSet();
      postings.byValue.set(value, list);
    }
    list.add(shared);
  }
}

function removePostings(postingsByKey: Map<string, Postings>, shared: SharedLabels): void {
  for (const key of Object.keys(shared.labels)) {
    const value = shared.labels[key]!;
    const postings = postingsByKey.get(key)!;
    postings.count--;
    const list = postings.byValue.get(value)!;
    list.delete(shared);
    if (list.size === 0) postings.byValue.delete(value);
    if (postings.count === 0) postingsByKey.delete(key);
  }
}
