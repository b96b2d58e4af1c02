/**
 * What counts are an answer to (docs/accounting.md#counts): the PodProtector's UID, the canonical text of the counting
 * selector and minReadySeconds, as a short hash. Counts with another one than the object's answer another question, so
 * they are not in force.
 *
 * One kind of them is kept: counts of the same pods by a longer minReadySeconds. Whoever was Ready for 30 seconds was
 * Ready for 10, so they are a lower bound of what is asked now. Otherwise an edit that only lowers minReadySeconds
 * would stop deletions everywhere until the last cell has counted again.
 */
import { hash } from "node:crypto";
import { type Aggregation } from "../../api/v1alpha1/pod-protector.ts";

/**
 * 48 bits: enough to tell the few specs of one object apart. Forging it gains nothing, because status writers are
 * trusted.
 */
const hexDigits = 12;

/** The hash that an aggregator writes. */
export function countedSpec(protectorUID: string, canonicalCountingSelector: string, minReadySeconds: number): string {
  return hash("sha256", JSON.stringify([protectorUID, canonicalCountingSelector, minReadySeconds]), "hex").slice(
    0,
    hexDigits,
  );
}

/** The spec of a PodProtector, as a question to counts. */
export class CountedSpec {
  readonly #hashOf: (minReadySeconds: number) => string;
  readonly #minReadySeconds: number;
  readonly #hash: string;
  /** The longer minReadySeconds that was asked for last. After an edit, all cells have the same one. */
  #longer: { readonly minReadySeconds: number; readonly hash: string } | undefined;

  constructor(protectorUID: string, canonicalCountingSelector: string, minReadySeconds: number) {
    this.#hashOf = (seconds) => countedSpec(protectorUID, canonicalCountingSelector, seconds);
    this.#minReadySeconds = minReadySeconds;
    this.#hash = this.#hashOf(minReadySeconds);
  }

  /** Whether the counts answer this spec, or are a lower bound of the answer. Those of a Go aggregator do not say. */
  isAnsweredBy({ countedSpec: answered, countedMinReadySeconds }: Aggregation): boolean {
    if (answered === undefined || answered === this.#hash) return true;
    if (countedMinReadySeconds === undefined || countedMinReadySeconds < this.#minReadySeconds) return false;
    return answered === this.#longerHash(countedMinReadySeconds);
  }

  #longerHash(minReadySeconds: number): string {
    if (this.#longer?.minReadySeconds !== minReadySeconds)
      this.#longer = { minReadySeconds, hash: this.#hashOf(minReadySeconds) };
    return this.#longer.hash;
  }
}
