/** How many PodProtectors have a floor above 0: what the threshold is a share of. */
import { type Informer } from "../../kube/informer.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type Clock, longAgo } from "../../util/clock.ts";

/** The number may be so old; counting 10,000 takes half a millisecond. */
const oldMs = 1_000;

export class FloorNumber {
  readonly #protectors: Pick<Informer<StoredProtector>, "values">;
  readonly #clock: Clock;
  #last = { number: 0, atMs: longAgo };

  constructor(protectors: Pick<Informer<StoredProtector>, "values">, clock: Clock) {
    this.#protectors = protectors;
    this.#clock = clock;
  }

  aboveZero(): number {
    const atMs = this.#clock.monotonicMs();
    if (atMs - this.#last.atMs < oldMs) return this.#last.number;
    let number = 0;
    for (const { protector } of this.#protectors.values()) if (protector.spec.minAvailable > 0) number += 1;
    this.#last = { number, atMs };
    return number;
  }
}
