/**
 * A small generator of repeatable pseudo-random numbers (the mulberry32 scheme): the same seed gives the same sequence
 * on every machine.
 */
import { type Rng } from "../../src/util/rng.ts";

/** `seed` is taken modulo 2^32. */
export function createSeededRng(seed: number): Rng {
  let state = seed >>> 0;
  return {
    next() {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    },
  };
}
