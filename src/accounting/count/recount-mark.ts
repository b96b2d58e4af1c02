/**
 * The mark of a recount, `recountedAt` (docs/accounting.md#restores, docs/decisions/0004-recount-mark.md). After a
 * restore of the core, or a reset of a worker's history, counts are written whatever version is recorded. Such a
 * recount carries a mark, which tells it from a state that a backup brought back. Later writes keep the mark.
 *
 * Marks are ordered, not timed: each is later than those that its writer knows of, whatever its clock says. A mark far
 * ahead of the own clock is forged, or comes from a broken clock. It is read as if it were absent, or all later marks
 * would follow it.
 */
import { epochMicrosOf, formatMicroTime, type MicroTime } from "../../api/micro-time.ts";
import { type Aggregation } from "../../api/v1alpha1/pod-protector.ts";
import { type EpochMicros } from "../../util/clock.ts";

/** Furthest that a mark may lie ahead of the own clock. No clock that NTP sets is a day off. */
const aheadMaxMicros = 86_400_000_000;

export interface RecountMarksOptions {
  /** The wall clock. */
  readonly now: () => EpochMicros;
  /** A mark was read as absent. Called for the first one only. */
  readonly onRefused: (mark: MicroTime) => void;
}

/** Reads marks, and makes new ones. */
export class RecountMarks {
  readonly #options: RecountMarksOptions;
  #hasRefused = false;
  /** The latest mark that was near the clock once. Earlier ones need no look at the clock: each state is compared. */
  #believedUpTo: MicroTime | undefined;

  constructor(options: RecountMarksOptions) {
    this.#options = options;
  }

  /** Whether `aggregation` comes from a recount that `known` did not come from. */
  isRecountedSince(known: Aggregation | undefined, aggregation: Aggregation | undefined): boolean {
    const mark = this.#believed(aggregation?.recountedAt);
    if (mark === undefined) return false;
    const knownMark = this.#believed(known?.recountedAt);
    return knownMark === undefined || mark > knownMark;
  }

  /** The mark of the next recount: now, and later than those of `earlier`. */
  next(earlier: readonly (MicroTime | undefined)[]): MicroTime {
    let next = this.#options.now();
    for (const recorded of earlier) {
      const mark = this.#believed(recorded);
      if (mark !== undefined) next = Math.max(next, epochMicrosOf(mark) + 1) as EpochMicros;
    }
    return formatMicroTime(next);
  }

  #believed(mark: MicroTime | undefined): MicroTime | undefined {
    if (mark === undefined) return undefined;
    // Texts of this form are ordered as the times are.
    if (this.#believedUpTo !== undefined && mark <= this.#believedUpTo) return mark;
    if (epochMicrosOf(mark) <= this.#options.now() + aheadMaxMicros) {
      this.#believedUpTo = mark;
      return mark;
    }
    if (!this.#hasRefused) {
      this.#hasRefused = true;
      this.#options.onRefused(mark);
    }
    return undefined;
  }
}
