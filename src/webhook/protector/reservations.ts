/**
 * Reserves deletions of PodProtectors: gathers them into one batch for each PodProtector (src/retry-batch), which
 * status-writer.ts executes, and records later what was admitted while a core took no writes.
 */
import {
  createRetryBatch,
  type RetryBatch,
  type SubmitOutcome,
  type RetryBatchObserver,
} from "../../retry-batch/index.ts";
import { type Clock, later, type MonotonicMs } from "../../util/clock.ts";
import { type Rng } from "../../util/rng.ts";
import { type Deletion } from "../deletion.ts";
import { recordLate } from "../outage/late-records.ts";
import { type Protector } from "./protector.ts";
import { type ReservationResult, type StatusWriter } from "./status-writer.ts";

export interface ReservationsOptions {
  readonly writer: Pick<StatusWriter, "execute">;
  readonly clock: Clock;
  readonly rng: Rng;
  /** Wait before the first batch of an idle PodProtector. */
  readonly coldStartDelayMs: number;
  readonly observer: RetryBatchObserver<unknown>;
  /** A deletion was admitted and its quota written, and its caller had left meanwhile. Called for each. */
  readonly onUnclaimed: () => void;
}

/** Until when a reservation is waited for. */
export interface Patience {
  readonly deadlineMonotonicMs: MonotonicMs;
  /** Aborts when the caller has left. */
  readonly signal: AbortSignal | undefined;
  /** Of a review that was held: its place in line, before those that have just come. */
  readonly turn?: number;
}

/**
 * A status write with 500 more buckets grows by 60 kB and takes etcd a few milliseconds more; beyond that, two writes
 * are no slower.
 */
const batchSizeMax = 500;
/** At 500 a batch and some 100 ms a write this is a wait of 2 s. A caller that would wait longer is told at once. */
const queuedPerKeyMax = 10_000;
/** PodProtectors with deletions under way at once; a fleet has about as many workloads in all. */
const keysMax = 100_000;
/** As long as a review by default. */
const recordTimeoutMs = 10_000;

export class Reservations {
  readonly #options: ReservationsOptions;
  readonly #batch: RetryBatch<Deletion, ReservationResult, Protector>;
  readonly #draining = new AbortController();

  constructor(options: ReservationsOptions) {
    const { clock, coldStartDelayMs, observer, onUnclaimed } = options;
    this.#options = options;
    this.#batch = createRetryBatch({
      clock,
      execute: async (protector: Protector, deletions: readonly Deletion[]) => {
        const outcome = await options.writer.execute(protector, deletions);
        if (protector.unrecorded.length > 0) void this.#recordLate(protector);
        return outcome;
      },
      nextBatchDelayMs: (protector) => protector.writeDelayMs(),
      gathering: (protector) => protector.gathering(),
      expectedMs: (protector) => protector.expectedWriteMs(),
      coldStartDelayMs,
      batchSizeMax,
      queuedPerKeyMax,
      keysMax,
      observer: {
        ...observer,
        onUnclaimed({ result }) {
          if (hasTakenQuota(result as ReservationResult)) onUnclaimed();
        },
      },
    });
  }

  /** Adds the deletion to the next batch of the PodProtector. Never rejects. */
  async reserve(
    protector: Protector,
    deletion: Deletion,
    { deadlineMonotonicMs, signal, turn }: Patience,
  ): Promise<SubmitOutcome<ReservationResult>> {
    protector.hold();
    protector.joinTurns();
    try {
      return await this.#batch.submit(protector, deletion, {
        deadlineMonotonicMs,
        ...(signal !== undefined && { signal }),
        ...(turn !== undefined && { turn }),
      });
    } finally {
      protector.release();
    }
  }

  /** The next batch of the PodProtector may be written sooner than it was planned. */
  startSooner(protector: Protector): void {
    this.#batch.hasten(protector);
  }

  /** Refuses further reservations and resolves when the running ones have ended. */
  drain(): Promise<void> {
    this.#draining.abort();
    return this.#batch.drain();
  }

  async #recordLate(protector: Protector): Promise<void> {
    if (protector.isBeingRecorded) return;
    protector.isBeingRecorded = true;
    protector.hold();
    const { clock, rng } = this.#options;
    const record = async (): Promise<void> => {
      // Its batch records all that is not recorded yet.
      const [deletion] = protector.unrecorded;
      const deadlineMonotonicMs = later(clock.monotonicMs(), recordTimeoutMs);
      if (deletion !== undefined) await this.reserve(protector, deletion, { deadlineMonotonicMs, signal: undefined });
    };
    await recordLate({ isOpen: () => protector.unrecorded.length > 0, record }, clock, rng, this.#draining.signal);
    protector.isBeingRecorded = false;
    protector.release();
  }
}

/** A repetition has taken it before, and what needs none is only recorded. */
function hasTakenQuota(result: ReservationResult): boolean {
  if (result.kind !== "judged" || result.verdict.kind !== "admitted") return false;
  const { need, isRecorded, isRepeated } = result.verdict;
  return need === "quota" && isRecorded && !isRepeated;
}
