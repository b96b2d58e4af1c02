/**
 * Writes what the generator has found about the source of a PodProtector into the conditions of its status:
 * Undrainable, Unprotected, Dangling (docs/conditions.md). They are for people, so they take their time: the leader
 * looks through its cache now and then, and writes only what differs. A status that others write is written by
 * compare-and-swap, and whoever was faster wins; the next look tries again.
 */
import { type FoundConditions, withConditions } from "../api/v1alpha1/conditions.ts";
import { type Condition } from "../api/v1alpha1/pod-protector.ts";
import { summarize } from "../accounting/count/summary.ts";
import { type Informer } from "../kube/informer.ts";
import { errorLabel, isKubeError, type KubeClient } from "../kube/kube-client.ts";
import { presentOrThrow, readProtectorLive, swapStatusAndCheck } from "../kube/pod-protectors.ts";
import { type StoredProtector } from "../kube/resources.ts";
import { type Clock, later, longAgo, type MonotonicMs, sleep } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { type Counter } from "../util/metrics.ts";

/**
 * Between two looks: a person does not wait longer than that for an explanation. A look through 10,000 objects takes
 * some 30 ms. It is also the pace at which one object is written while a Go component drops the conditions again.
 */
const lookEveryMs = 15_000;
/** Between two writes: five a second, a fortieth of what a client may ask of the core by default. */
const pauseMs = 200;
/** Without the right to write a status, or with a CRD that drops conditions, nothing changes until somebody acts. */
const giveUpMs = 3_600_000;

export interface SourceConditionsOptions {
  readonly core: KubeClient;
  readonly protectors: Informer<StoredProtector>;
  /** As Generator.found. */
  readonly found: (stored: StoredProtector) => FoundConditions;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Conditions that were not stored, by `error`; "dropped" = the API server does not know the field. */
  readonly failures: Counter;
}

export class SourceConditions {
  readonly #options: SourceConditionsOptions;
  #restsUntilMs: MonotonicMs = longAgo;

  constructor(options: SourceConditionsOptions) {
    this.#options = options;
  }

  /** As Generator.lead. */
  async lead(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      await sleep(clock, lookEveryMs, signal);
      await this.#look(signal);
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { protectors, clock, logger, failures } = this.#options;
    const keys = [...protectors.values()].filter((stored) => this.#differs(stored)).map(({ key }) => key);
    for (const key of keys) {
      if (signal.aborted || clock.monotonicMs() < this.#restsUntilMs) return;
      const stored = protectors.get(key);
      if (stored === undefined || !this.#differs(stored)) continue;
      try {
        await this.#write(stored, signal);
      } catch (err) {
        if (!isKubeError(err)) throw err;
        if (signal.aborted) return;
        failures.inc({ error: errorLabel(err) });
        if (err.kind === "forbidden") this.#rest("The account may not write conditions of PodProtectors", err);
        else
          logger.verbose(2, "Cannot write the conditions of a PodProtector, trying again", { podProtector: key, err });
      }
      await sleep(clock, pauseMs, signal);
    }
  }

  #differs(stored: StoredProtector): boolean {
    return this.#merged(stored, this.#options.found(stored)) !== stored.protector.status?.conditions;
  }

  #merged({ protector }: StoredProtector, found: FoundConditions): readonly Condition[] | undefined {
    return withConditions(protector.status?.conditions, found, this.#options.clock.epochMicros());
  }

  /** Throws KubeError. A conflict is left to the next look. */
  async #write({ protector }: StoredProtector, signal: AbortSignal): Promise<void> {
    const { core, failures, found } = this.#options;
    // Not from the cache: one that lags behind the writers of the status would only meet conflicts.
    const live = presentOrThrow(await readProtectorLive(core, protector.metadata, { signal }));
    if (live === undefined) return;
    // Once: what is found may change while it is being written.
    const foundNow = found(live);
    const conditions = this.#merged(live, foundNow);
    if (conditions === undefined || conditions === live.protector.status?.conditions) return;
    const status = live.protector.status ?? { cells: [], summary: summarize([]) };
    const swap = await swapStatusAndCheck(core, live, { ...status, conditions }, { signal });
    if (swap.kind === "failed") throw swap.error;
    if (swap.kind !== "written") return;
    if (this.#merged(swap.stored, foundNow) !== swap.stored.protector.status?.conditions) {
      failures.inc({ error: "dropped" });
      this.#rest("The core drops conditions of PodProtectors: apply the CRD of this release", undefined);
    }
  }

  #rest(message: string, err: unknown): void {
    const { clock, logger } = this.#options;
    this.#restsUntilMs = later(clock.monotonicMs(), giveUpMs);
    logger.warn(message, err === undefined ? {} : { err });
  }
}
