/**
 * Finds the selectors that match a label set, for a pod's PodProtectors.
 *
 * Each selector is stored in a set trie under words of letters that every matching label set must have. A query finds
 * the words that are subsets of the pod's letters, and then checks the whole selector. So a word is only a filter. It
 * may leave out requirements (negative ones, and those that would make words too many or too long), and the answer
 * stays exact. A selector without positive requirements has the empty word and is checked by every query.
 */
import { type Labels } from "../api/pod.ts";
import { type LabelSelector } from "../api/v1alpha1/pod-protector.ts";
import { Alphabet, type Letter, type Word } from "./alphabet.ts";
import { compileSelector, matches, type CompiledSelector, type KeyRequirement } from "./canonical-selector.ts";
import { type LabelIndex } from "./label-index.ts";
import { SetTrie } from "./set-trie.ts";

/** `reason` for people: what is wrong with the selector. */
export type TrackResult = { readonly ok: true } | { readonly ok: false; readonly reason: string };

/**
 * `track` takes a selector and compiles it. When it is invalid, nothing changes (an earlier selector of the name stays)
 * and the reason is returned. `query` takes the labels of a pod.
 */
export type SelectorIndex = LabelIndex<LabelSelector, Labels, TrackResult>;

/**
 * Most words per selector. A selector with several In lists has a word for each combination of values: at about 300
 * bytes per new node, 64 words of a few letters take some tens of kilobytes, and longer lists are rare. A list that
 * does not fit is replaced by "key exists".
 */
const wordsMax = 64;

/**
 * Most letters per word; bounds the recursion of a query. Real selectors have 1 to 5. The full check covers the rest.
 */
const wordLettersMax = 16;

interface Entry {
  readonly name: string;
  readonly selector: CompiledSelector;
  /** Its words in the trie. */
  readonly words: readonly Word[];
}

export function createSelectorIndex(): SelectorIndex {
  const entries = new Map<string, Entry>();
  const alphabet = new Alphabet();
  const trie = new SetTrie<Entry>();

  function untrack(name: string): boolean {
    const entry = entries.get(name);
    if (entry === undefined) return false;
    entries.delete(name);
    for (const word of entry.words) {
      trie.delete(word, entry);
      alphabet.release(word);
    }
    return true;
  }

  return {
    track(name, selector) {
      const compiled = compileSelector(selector);
      if (!compiled.ok) return compiled;
      untrack(name);
      const words = wordsOf(compiled.selector).map((letters) => alphabet.acquire(letters));
      const entry: Entry = { name, selector: compiled.selector, words };
      entries.set(name, entry);
      for (const word of words) trie.add(word, entry);
      return { ok: true };
    },
    untrack,
    query(labels, max = Infinity) {
      const names: string[] = [];
      // A label set has one value per key and the words of a selector differ in some value, so no entry is visited
      // twice.
      trie.visitSubsets(alphabet.spell(labels), (entry) => {
        if (matches(entry.selector, labels)) names.push(entry.name);
        return names.length < max;
      });
      return names;
    },
    get size() {
      return entries.size;
    },
  };
}

/** The words of a selector; none when it matches nothing. */
function wordsOf(selector: CompiledSelector): readonly (readonly Letter[])[] {
  if (selector.kind === "nothing") return [];
  const { common, choices } = lettersOf(selector);
  let words: readonly (readonly Letter[])[] = [
    common.length > wordLettersMax ? common.slice(0, wordLettersMax) : common,
  ];
  for (const letters of choices.slice(0, Math.max(0, wordLettersMax - common.length))) {
    words = words.flatMap((word) => letters.map((letter) => word.concat(letter)));
  }
  return words;
}

interface SelectorLetters {
  /** Letters that every matching label set has. */
  readonly common: Letter[];
  /** Lists of letters; of each, every matching label set has exactly one. */
  readonly choices: Letter[][];
}

/**
 * A letter or a list of letters for each key with a positive requirement, the most telling first: values before mere
 * existence, short lists before long ones. The product of the lists' lengths is at most `wordsMax`.
 */
function lettersOf({ requirements }: CompiledSelector & { readonly kind: "requirements" }): SelectorLetters {
  const common: Letter[] = [];
  const existing: Letter[] = [];
  const lists: (KeyRequirement & { readonly kind: "in" })[] = [];
  for (const requirement of requirements) {
    if (requirement.kind === "is") common.push(requirement);
    else if (requirement.kind === "exists") existing.push({ key: requirement.key, value: undefined });
    else if (requirement.kind === "in") lists.push(requirement);
  }
  const choices: Letter[][] = [];
  let wordCount = 1;
  for (const { key, values } of lists.sort((a, b) => a.values.size - b.values.size)) {
    wordCount *= values.size;
    if (wordCount <= wordsMax) choices.push(Array.from(values, (value) => ({ key, value })));
    else existing.push({ key, value: undefined });
  }
  common.push(...existing);
  return { common, choices };
}
