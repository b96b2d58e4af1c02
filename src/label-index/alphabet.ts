/**
 * The letters of the words in the set trie: "key exists" and "key has this value", as small integers. Only letters that
 * some selector uses have a number, so each other label of a pod costs a query only one map look-up.
 */
import { type Labels } from "../api/pod.ts";
import { assert } from "../util/assert.ts";

/** Without `value` it means "key exists", with `value` "key has this value". */
export interface Letter {
  readonly key: string;
  readonly value: string | undefined;
}

/** A set of letters as their numbers, ascending and distinct. */
export type Word = readonly number[];

interface Counted extends Letter {
  readonly number: number;
  /** How many words use the letter. */
  uses: number;
}

interface KeyLetters {
  exists: Counted | undefined;
  readonly values: Map<string, Counted>;
}

/** Numbers letters and counts their uses; a letter is freed with its last use. */
export class Alphabet {
  readonly #keys = new Map<string, KeyLetters>();
  readonly #letters = new Map<number, Counted>();
  /** Never reused: 2^53 letters outlast every process. */
  #nextNumber = 0;

  /** The word of `letters`, which must be distinct. Each call needs a `release` of the word. */
  acquire(letters: readonly Letter[]): Word {
    return ascending(letters.map((letter) => this.#use(letter)));
  }

  /** Gives back one use of each letter of `word`. */
  release(word: Word): void {
    for (const number of word) {
      const counted = this.#letters.get(number);
      assert(counted !== undefined, "released a letter that is not in use");
      if (--counted.uses > 0) continue;
      this.#letters.delete(number);
      this.#forget(counted);
    }
  }

  /** All letters in use that hold for `labels`. */
  spell(labels: Labels): Word {
    const word: number[] = [];
    for (const key of Object.keys(labels)) {
      const entry = this.#keys.get(key);
      if (entry === undefined) continue;
      if (entry.exists !== undefined) word.push(entry.exists.number);
      const counted = entry.values.get(labels[key]!);
      if (counted !== undefined) word.push(counted.number);
    }
    return ascending(word);
  }

  #use({ key, value }: Letter): number {
    let entry = this.#keys.get(key);
    if (entry === undefined) {
      entry = { exists: undefined, values: new Map() };
      this.#keys.set(key, entry);
    }
    let counted = value === undefined ? entry.exists : entry.values.get(value);
    if (counted === undefined) {
      counted = { key, value, number: this.#nextNumber++, uses: 0 };
      this.#letters.set(counted.number, counted);
      if (value === undefined) entry.exists = counted;
      else entry.values.set(value, counted);
    }
    counted.uses++;
    return counted.number;
  }

  #forget({ key, value }: Letter): void {
    const entry = this.#keys.get(key)!;
    if (value === undefined) entry.exists = undefined;
    else entry.values.delete(value);
    if (entry.exists === undefined && entry.values.size === 0) this.#keys.delete(key);
  }
}

/**
 * Sorts `numbers` in place, by insertion: words are short, and `Array.prototype.sort` with a comparison takes longer
 * than the whole query of an index.
 */
function ascending(numbers: number[]): number[] {
  for (let end = 1; end < numbers.length; end++) {
    const number = numbers[end]!;
    let place = end;
    while (place > 0 && numbers[place - 1]! > number) {
      numbers[place] = numbers[place - 1]!;
      place--;
    }
    numbers[place] = number;
  }
  return numbers;
}
