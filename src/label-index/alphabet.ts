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

interface Counted {
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
  /** Never reused: 2^53 letters outlast every process. */
  #nextNumber = 0;

  /** The word of `letters`, which must be distinct. Each call needs a `release` of the same letters. */
  acquire(letters: readonly Letter[]): Word {
    return letters.map((letter) => this.#use(letter)).sort((a, b) => a - b);
  }

  /** Gives back one use of each letter. */
  release(letters: readonly Letter[]): void {
    for (const { key, value } of letters) {
      const entry = this.#keys.get(key);
      const counted = value === undefined ? entry?.exists : entry?.values.get(value);
      assert(entry !== undefined && counted !== undefined, "released a letter that is not in use");
      if (--counted.uses > 0) continue;
      if (value === undefined) entry.exists = undefined;
      else entry.values.delete(value);
      if (entry.exists === undefined && entry.values.size === 0) this.#keys.delete(key);
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
    return word.sort((a, b) => a - b);
  }

  #use({ key, value }: Letter): number {
    let entry = this.#keys.get(key);
    if (entry === undefined) {
      entry = { exists: undefined, values: new Map() };
      this.#keys.set(key, entry);
    }
    let counted = value === undefined ? entry.exists : entry.values.get(value);
    if (counted === undefined) {
      counted = { number: this.#nextNumber++, uses: 0 };
      if (value === undefined) entry.exists = counted;
      else entry.values.set(value, counted);
    }
    counted.uses++;
    return counted.number;
  }
}
