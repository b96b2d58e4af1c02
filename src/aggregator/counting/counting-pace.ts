/**
 * When a PodProtector is counted after something has happened to it
 * (docs/aggregator.md#as-fresh-as-somebody-waits-for-them).
 *
 * - Nobody waits for its counts: at its aggregation rate.
 * - Somebody does, as an admitted deletion is not settled, or as there are no counts to admit any by: at once, and
 *   then at most every 100 ms, while the budget of writes lasts. Each cell of an object begins at a moment of its
 *   own, so that a hundred do not write it at once.
 * - Where writes are slow, less often: a write of counts makes the webhook's write fail that is under way.
 */
import { type ObjectKey } from "../../api/object-key.ts";
import { type PodRecord } from "../../api/pod.ts";
import { type PodProtectorSpec } from "../../api/v1alpha1/pod-protector.ts";
import { canMeet, criterionFor } from "../../accounting/count/health-criterion.ts";
import { type ProtectorMemory } from "../../accounting/count/protector-memory.ts";
import { historyConfigOf } from "../../accounting/history/history-config.ts";
import { type InformerEvent } from "../../kube/informer.ts";
import { type Clock, later } from "../../util/clock.ts";
import { type Counter } from "../../util/metrics.ts";
import { type Rng, uniform } from "../../util/rng.ts";
import { type AggregatorSettings } from "./dependencies.ts";
import { WriteBudget } from "./write-budget.ts";

/** For each cell of an object: longer than its API server takes for one write, so that cells meet few conflicts. */
const spreadMsPerCell = 20;
/** A hundred cells. With more a conflict is cheaper than the wait, and no object delays the first counts of others. */
const spreadMsLimit = 2_000;
/**
 * Least time between two writes, whatever the rate. All deletions of a tenth of a second share one, so that a wave of
 * deletions costs few; a controller that is refused meanwhile tries again after about as long.
 */
const spacingMs = 100;
/**
 * All cells of an object write it at most for so large a part of the time: about as many writes of webhooks that record
 * deletions without a break meet one of theirs.
 */
const writingShare = 0.08;
/** Of the newest write in the average time of one: up faster than down, since a wave is over soon. */
const newestWeight = { longer: 0.5, shorter: 0.2 } as const;
/**
 * How long after the last open admission somebody is still expected to delete: until the successor of the last deleted
 * pod is ready, as in a rolling update.
 */
const expectedMs = 60_000;

/**
 * What has happened: a pod that is counted has changed; or the snapshot has moved, perhaps by pods of others; or
 * anything else.
 */
export type News = InformerEvent<PodRecord> | "progress" | "other";

export interface CountingPaceOptions {
  readonly config: Pick<AggregatorSettings, "history" | "rateJitterLow" | "rateJitterHigh">;
  readonly clock: Clock;
  readonly rng: Rng;
  /** Whether the object counts no pods. */
  readonly countsNone: (key: ObjectKey) => boolean;
  readonly asked: Counter;
}

export class CountingPace {
  readonly #options: CountingPaceOptions;
  readonly budget: WriteBudget;
  /** How long the core takes for a status write, on average; undefined before the first one. */
  #writeMs: number | undefined;
  /** The most cells that an object had: one that is new to this cell may get as many. */
  #cellsMax = 1;

  constructor(options: CountingPaceOptions) {
    this.#options = options;
    this.budget = new WriteBudget(options.clock);
  }

  /** A status write was accepted after so long. */
  took(durationMs: number): void {
    const knownMs = this.#writeMs ?? durationMs;
    const weight = durationMs > knownMs ? newestWeight.longer : newestWeight.shorter;
    this.#writeMs = knownMs + (durationMs - knownMs) * weight;
  }

  /** Milliseconds within which its owner wants the object to be counted when nobody waits. */
  rateMs({ newest }: ProtectorMemory): number {
    return historyConfigOf(newest.protector.spec.admissionHistoryConfig, this.#options.config.history)
      .aggregationRateMs;
  }

  /** Milliseconds until the object is to be counted. Reserves its write. */
  delayMs(memory: ProtectorMemory, news: News): number {
    const { config, clock, rng, asked } = this.#options;
    const cells = memory.newest.protector.status?.cells.length ?? 0;
    this.#cellsMax = Math.max(this.#cellsMax, cells);
    const restMs = (spacing: number): number => later(memory.sentAtMs, spacing) - clock.monotonicMs();
    const jitter = uniform(rng, config.rateJitterLow, config.rateJitterHigh);
    const ownMs = this.rateMs(memory) * jitter;
    // What an owner wants sooner than others have it comes out of the budget, too.
    const commonMs = config.history.aggregationRateMs * jitter;
    const usualMs = Math.max(ownMs, commonMs, restMs(spacingMs));
    // A count of no pods frees nothing.
    const isUncounted = memory.isUncounted && (memory.hasOpen || !this.#options.countsNone(memory.key));
    const isAwaited = this.#isAwaited(memory, news, isUncounted);
    // The backoff of the work queue must hold, or a core that is overloaded gets more writes than one that is well.
    if (memory.isFailing || (!isAwaited && ownMs >= commonMs)) return usualMs;
    const writers = memory.cell() === undefined ? this.#cellsMax : cells;
    const spreadMsMax = Math.min(spreadMsPerCell * writers, spreadMsLimit);
    const spreadMs = uniform(rng, 0, spreadMsMax);
    const sharedMs = ((this.#writeMs ?? 0) * writers) / writingShare;
    const fromMs = Math.max(isAwaited ? spreadMs : ownMs, restMs(Math.max(spacingMs, spreadMsMax, sharedMs)));
    const reservation = this.budget.reserve(memory.key, fromMs, usualMs);
    if (reservation === "held") return usualMs;
    const isRefused = "refused" in reservation;
    asked.inc({ result: isRefused ? reservation.refused : "prompt" });
    if (!isRefused) return reservation.afterMs;
    // Cells that meet an object for the first time do so at the same moment.
    return isUncounted ? Math.max(usualMs, spreadMs) : usualMs;
  }

  #isAwaited(memory: ProtectorMemory, news: News, isUncounted: boolean): boolean {
    const { spec } = memory.newest.protector;
    // Without a floor nobody is refused.
    if (spec.minAvailable <= 0) return false;
    // Most of these change nothing for the object, and a busy cell has hundreds a second.
    if (news === "progress") return false;
    if (isUncounted || memory.hasOpen) return true;
    if (news === "other" || this.#options.clock.monotonicMs() >= later(memory.lastOpenAtMs, expectedMs)) return false;
    return givesQuota(news, spec);
  }
}

/** Whether a pod begins to meet the criterion. */
function givesQuota(event: InformerEvent<PodRecord>, spec: PodProtectorSpec): boolean {
  const meets = (pod: PodRecord): boolean => canMeet(criterionFor(undefined, spec), pod);
  return event.type !== "deleted" && meets(event.object) && (event.type === "added" || !meets(event.previous));
}
