/**
 * Says that the core's CRD removes the extension fields (design 2.4). It does so to every PodProtector, so it is said
 * for all at once.
 */
import { type Clock } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";

/** Often enough to stand in the logs of any day that somebody looks at, and seldom enough for ever. */
const spacingMs = 3_600_000;

export class PruningReport {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #onPruned: () => void;
  #saidAtMs = -Infinity;

  constructor(deps: { readonly clock: Clock; readonly logger: Logger; readonly onPruned: () => void }) {
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#onPruned = deps.onPruned;
  }

  /**
   * The extensions were missing in the answer to a status write of this PodProtector. Counts each, logs at most one an
   * hour.
   */
  pruned(podProtector: string): void {
    this.#onPruned();
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#saidAtMs < spacingMs) return;
    this.#saidAtMs = nowMs;
    this.#logger.warn(
      "the core's CRD removes Podseidon's extension fields: install the CRD of this version; until then upstream's guarantee holds",
      { podProtector },
    );
  }
}
