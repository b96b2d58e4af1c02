/** Random identities from the injected generator: UIDs and generated names. */
import { type Rng, randomHex } from "../../../src/util/rng.ts";

/** A version 4 UUID in form; as unique as `rng` is random. */
export function randomUuid(rng: Rng): string {
  const hex = randomHex(rng, 32);
  const variant = "89ab"[Math.floor(rng.next() * 4)]!;
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ];
  return parts.join("-");
}

// Kubernetes leaves out vowels and look-alikes, so that no words come out.
const nameAlphabet = "bcdfghjklmnpqrstvwxz2456789";

/** The five characters that the server adds to `generateName`. */
export function randomNameSuffix(rng: Rng): string {
  return Array.from({ length: 5 }, () => nameAlphabet[Math.floor(rng.next() * nameAlphabet.length)]!).join("");
}
