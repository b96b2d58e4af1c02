/** What random inputs and actors are drawn from: an Rng with the few forms that they need. Each form draws once. */
import { type Rng, uniform } from "../../src/util/rng.ts";

export class Draws {
  readonly #rng: Rng;

  constructor(rng: Rng) {
    this.#rng = rng;
  }

  /** True with this probability. */
  chance(probability: number): boolean {
    return this.#rng.next() < probability;
  }

  /** A whole number from 0 up to, but not including, `end`. */
  below(end: number): number {
    return Math.floor(this.#rng.next() * end);
  }

  /** A whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  between(low: number, high: number): number {
    return uniform(this.#rng, low, high);
  }

  /** One of a list that is not empty. */
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  /** One of the list; undefined when it is empty. */
  pickAny<T>(list: readonly T[]): T | undefined {
    return this.pick<T | undefined>(list);
  }

  /** One of several, of which the first is there for certain. */
  oneOf<T>(first: T, ...others: readonly T[]): T {
    return this.pick([first, ...others]);
  }

  /** One of the makers, the likelier the greater its weight. */
  weighted<T>(choices: readonly (readonly [weight: number, make: () => T])[]): T {
    let left = this.#rng.next() * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, make] of choices) {
      left -= weight;
      if (left < 0) return make();
    }
    throw new Error("nothing to choose from");
  }
}
