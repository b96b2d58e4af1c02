/** Randomness as an injected dependency. */
import { randomBytes } from "node:crypto";

export interface Rng {
  /** Uniform in [0, 1). */
  next(): number;
}

/** The machine's own randomness; good for jitter and identities, not for secrets. */
export function createSystemRng(): Rng {
  return { next: () => Math.random() };
}

/** Uniform in [low, high). */
export function uniform(rng: Rng, low: number, high: number): number {
  return low + (high - low) * rng.next();
}

/** `digits` hexadecimal digits, for identities and unique annotation values. */
export function randomHex(rng: Rng, digits: number): string {
  let text = "";
  while (text.length < digits) text += Math.floor(rng.next() * 16).toString(16);
  return text;
}

/** `digits` hexadecimal digits that nobody can guess. */
export function secretHex(digits: number): string {
  return randomBytes(Math.ceil(digits / 2))
    .toString("hex")
    .slice(0, digits);
}
