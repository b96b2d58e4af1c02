/**
 * How far the watch of PodProtectors has come, proven by LIST barriers as for pods (cell-watch.ts). A barrier below
 * what the watch had delivered before it was sent means that the core was restored from a backup: the PodProtectors
 * are listed again, and then each of them is read live (docs/accounting.md#restores).
 */
import { type ResourceVersion } from "../../api/resource-version.ts";
import { type Informer } from "../../kube/informer.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type Clock, type MonotonicMs } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { type Counter } from "../../util/metrics.ts";
import { BarrierTracker } from "./barrier.ts";

export interface ProtectorWatchOptions {
  readonly protectors: Informer<StoredProtector>;
  /** Sends a LIST of PodProtectors with resourceVersion unset and limit 1. */
  readonly listBarrier: (signal: AbortSignal) => Promise<ResourceVersion>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly historyResets: Counter;
}

export class ProtectorWatch {
  readonly #options: ProtectorWatchOptions;
  /** Sent while leading. */
  readonly barriers: BarrierTracker;
  /** When the list was asked for that is itself a barrier: the first one, or the one after a reset. */
  #listAskedAtMs: MonotonicMs | undefined;

  constructor(options: ProtectorWatchOptions) {
    const { protectors, listBarrier, clock, logger } = options;
    this.#options = options;
    this.barriers = new BarrierTracker({
      clock,
      list: listBarrier,
      relist: () => protectors.relist({ isPaced: true }),
      onPassed() {},
      onWaiting() {},
      // The aggregator compares the version of each object that is listed.
      onWentBack() {},
      onHistoryReset: (details) => this.#historyReset(details),
      onError: (error) => logger.warn("Cannot list PodProtectors for a barrier, retrying", { err: error }),
      onErrorsOver: (outage) => logger.info("PodProtectors can be listed for barriers again", outage),
    });
    protectors.subscribe({
      onEvent() {},
      onProgress: (version) => this.barriers.progressed(version),
      onListed: () => this.#listed(),
    });
  }

  /** Call right before the informer runs: its first list is consistent, and so a barrier. */
  starting(): void {
    this.#listAskedAtMs = this.#options.clock.monotonicMs();
  }

  #listed(): void {
    if (this.#listAskedAtMs !== undefined) this.barriers.listed(this.#listAskedAtMs);
    this.#listAskedAtMs = undefined;
  }

  #historyReset(details: { readonly barrier: ResourceVersion; readonly snapshot: ResourceVersion }): void {
    this.#options.historyResets.inc();
    this.#options.logger.error(
      "The core's history was reset (resourceVersions went backwards), listing PodProtectors again",
      details,
    );
    this.barriers.reset();
    this.#listAskedAtMs = this.#options.clock.monotonicMs();
    this.#options.protectors.relist();
  }
}
