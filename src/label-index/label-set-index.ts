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

/** `track` takes the labels of a pod, `query` a compiled selector. */
export type LabelSetIndex = LabelIndex<Labels, CompiledSelector, void>;

/** A distinct label set and the names that have it. */
interface SharedLabels {
  /** Equal label sets have equal text. */
  readonly text: string;
  readonly labels: Labels;
  readonly names: Set<string>;
}

/** The label sets that have a key, all and by value. */
interface Postings {
  readonly all: Set<SharedLabels>;
  readonly byValue: Map<string, Set<SharedLabels>>;
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

  return {
    track(name, labels) {
      const entries = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
      const text = JSON.stringify(entries);
      if (sharedByName.get(name)?.text === text) return;
      untrack(name);
      let shared = sharedByText.get(text);
      if (shared === undefined) {
        shared = { text, labels: Object.fromEntries(entries), names: new Set() };
        sharedByText.set(text, shared);
        addPostings(postingsByKey, shared);
      }
      shared.names.add(name);
      sharedByName.set(name, shared);
    },
    untrack,
    query(selector, max = Infinity) {
      const names: string[] = [];
      if (selector.kind === "nothing") return names;
      for (const list of candidates(selector.requirements, postingsByKey) ?? [sharedByText.values()]) {
        for (const shared of list) {
          if (!matches(selector, shared.labels)) continue;
          for (const name of shared.names) {
            names.push(name);
            if (names.length >= max) return names;
          }
        }
      }
      return names;
    },
    get size() {
      return sharedByName.size;
    },
  };
}

/** The fewest candidates that one requirement leaves; undefined when no requirement is positive. */
function candidates(
  requirements: readonly KeyRequirement[],
  postingsByKey: ReadonlyMap<string, Postings>,
): Candidates | undefined {
  let best: Candidates | undefined;
  let bestCount = Infinity;
  for (const requirement of requirements) {
    if (requirement.kind !== "in" && requirement.kind !== "exists") continue;
    const postings = postingsByKey.get(requirement.key);
    if (postings === undefined) return [];
    // One label set has one value of the key, so the lists of different values never share a member.
    const lists =
      requirement.kind === "exists"
        ? [postings.all]
        : Array.from(requirement.values, (value) => postings.byValue.get(value)).filter((list) => list !== undefined);
    const count = lists.reduce((sum, list) => sum + list.size, 0);
    if (count >= bestCount) continue;
    best = lists;
    bestCount = count;
  }
  return best;
}

function addPostings(postingsByKey: Map<string, Postings>, shared: SharedLabels): void {
  for (const [key, value] of Object.entries(shared.labels)) {
    let postings = postingsByKey.get(key);
    if (postings === undefined) {
      postings = { all: new Set(), byValue: new Map() };
      postingsByKey.set(key, postings);
    }
    postings.all.add(shared);
    const list = postings.byValue.get(value);
    if (list === undefined) postings.byValue.set(value, new Set([shared]));
    else list.add(shared);
  }
}

function removePostings(postingsByKey: Map<string, Postings>, shared: SharedLabels): void {
  for (const [key, value] of Object.entries(shared.labels)) {
    const postings = postingsByKey.get(key)!;
    postings.all.delete(shared);
    const list = postings.byValue.get(value)!;
    list.delete(shared);
    if (list.size === 0) postings.byValue.delete(value);
    if (postings.all.size === 0) postingsByKey.delete(key);
  }
}
