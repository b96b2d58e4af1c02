/** What people of a world draw from: a seeded generator with the few forms that actors need. */
import { type Rng, uniform } from "../../../src/util/rng.ts";
import { isApiError } from "../../double/index.ts";

export class Draws {
  readonly #rng: Rng;

  constructor(rng: Rng) {
    this.#rng = rng;
  }

  /** True in that share of all cases. */
  happens(share: number): boolean {
    return this.#rng.next() < share;
  }

  pick<T>(list: readonly T[]): T | undefined {
    return list[Math.floor(this.#rng.next() * list.length)];
  }

  /** One of several, of which the first is there for certain. */
  oneOf<T>(first: T, ...others: readonly T[]): T {
    return this.pick([first, ...others]) ?? first;
  }

  whole(low: number, high: number): number {
    return low + Math.floor(this.#rng.next() * (high - low + 1));
  }

  between(low: number, high: number): number {
    return uniform(this.#rng, low, high);
  }
}

/** What an API server refuses is no error of the simulation. */
export async function quietly<T>(act: () => Promise<T>): Promise<T | undefined> {
  try {
    return await act();
  } catch (error) {
    if (isApiError(error)) return undefined;
    throw error;
  }
}
