/**
 * The times of silent cells (docs/accounting.md#silent-cells). All scale with --silent-cell-after, so that a test with
 * 18 s proves the same rules as the default of three minutes.
 */

/** All in milliseconds. The comments name the values for the default of 3 minutes. */
export interface SilenceTimes {
  /** 3 m. Without a beat for this long a cell is silent. */
  readonly silentAfterMs: number;
  /** 10 s. Between two beats: 18 may be lost. */
  readonly beatMs: number;
  /** 20 s. Between two LIST barriers that prove a watch to be fresh. */
  readonly barrierMs: number;
  /** 30 s. Oldest barrier that the pods must have passed, where a touch moves their watch at once. */
  readonly freshTouchedMs: number;
  /** 90 s. The same without a touch, and for PodProtectors: a quiet watch gets a bookmark once a minute. */
  readonly freshMs: number;
  /** 65 s. A barrier that is not passed by then makes the reflector list again. */
  readonly relistMs: number;
  /** 60 s. Least time between two such lists of one watch. */
  readonly relistSpacingMs: number;
  /** 60 s. Longest wait of the first beat of a term for PodProtectors that are not counted yet. */
  readonly firstBeatMs: number;
  /** 15 s. Between two LISTs of an observer. */
  readonly observeMs: number;
  /**
   * 45 s. A longer hole between two LISTs of an observer starts all silence at zero: the observer was away. A cell
   * whose last beat was seen longer ago is late: two LISTs have shown none.
   */
  readonly contactMs: number;
  /** 60 s. Without a beat of the generator for this long, none leads: a standby takes over within 15 s. */
  readonly generatorAwayMs: number;
  /** 30 s. An observer that starts judges an unmarked Lease without change for this long by that of the generator. */
  readonly startMs: number;
  /** 90 s. The same where no generator marks Leases. */
  readonly startAloneMs: number;
}

export function silenceTimes(silentAfterMs: number): SilenceTimes {
  const minutes3 = 180_000;
  const scaled = (defaultMs: number): number => (defaultMs * silentAfterMs) / minutes3;
  return {
    silentAfterMs,
    beatMs: scaled(10_000),
    barrierMs: scaled(20_000),
    freshTouchedMs: scaled(30_000),
    freshMs: scaled(90_000),
    relistMs: scaled(65_000),
    relistSpacingMs: scaled(60_000),
    firstBeatMs: scaled(60_000),
    observeMs: scaled(15_000),
    contactMs: scaled(45_000),
    generatorAwayMs: scaled(60_000),
    startMs: scaled(30_000),
    startAloneMs: scaled(90_000),
  };
}
