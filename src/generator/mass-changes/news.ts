/**
 * How far back something that a watch shows only now may have happened: until the news before it. After a lost
 * connection that is long ago; otherwise it is a moment.
 */
import { type EpochMicros } from "../../util/clock.ts";

/** What arrives within this time arrived together: the events of one list. */
const togetherMicros = 1_000_000;

export class News {
  #beforeLast: EpochMicros | undefined;
  #last: EpochMicros | undefined;

  /** Something has arrived. */
  arrived(now: EpochMicros): void {
    if (this.#last === undefined || now - this.#last > togetherMicros) this.#beforeLast = this.#last;
    this.#last = now;
  }

  /**
   * When a change happened that was first seen now. Its own times only choose within what is possible: they may be
   * those of a backup, or of another clock.
   */
  timeOf(evidence: EpochMicros | undefined, now: EpochMicros): EpochMicros {
    if (evidence === undefined) return now;
    return Math.min(Math.max(evidence, this.#beforeLast ?? now), now) as EpochMicros;
  }
}
