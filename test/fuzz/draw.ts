/** Choices of the fuzzer, all from one seeded source: the same seed draws the same inputs on every machine. */
import { createSeededRng } from "../support/seeded-rng.ts";
import { type Rng } from "../../src/util/rng.ts";

export class Draw {
  readonly #rng: Rng;

  constructor(seed: number) {
    this.#rng = createSeededRng(seed);
  }

  /** True with this probability. */
  chance(probability: number): boolean {
    return this.#rng.next() < probability;
  }

  /** A whole number from 0 up to, but not including, `end`. */
  below(end: number): number {
    return Math.floor(this.#rng.next() * end);
  }

  /** One of a list that is not empty. */
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
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
