/**
 * How far back something that a watch shows only now may have happened: until the news before it. After a lost
 * connection that is long ago; otherwise it is a moment.
 */
import { type SourceKind } from "../../sources/source.ts";
import { type Clock, type EpochMicros } from "../../util/clock.ts";
import { type SourceCaches } from "../sources/source-caches.ts";

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

/** The news of each kind of sources: what one watch brings says nothing of another. */
export class ChangeTimes {
  readonly #news = new Map<SourceKind, News>();

  /** Before the informers run. */
  constructor(sources: Pick<SourceCaches, "subscribe">, clock: Clock) {
    sources.subscribe((kind) => {
      const news = new News();
      this.#news.set(kind, news);
      const arrived = (): void => news.arrived(clock.epochMicros());
      return { onEvent: arrived, onProgress: arrived };
    });
  }

  /** As News.timeOf. */
  timeOf(kind: SourceKind, evidence: EpochMicros | undefined, now: EpochMicros): EpochMicros {
    return this.#news.get(kind)?.timeOf(evidence, now) ?? now;
  }
}
