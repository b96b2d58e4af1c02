/** One line of the table of `make bench`. */
export interface Row {
  readonly what: string;
  readonly figure: string;
  readonly comparedWith: string;
  /** How many times as fast as what it is compared with, in this run; where it says CPU, by CPU time. */
  readonly ratio: number;
}

/** The value below which the part `q` of the samples lies; NaN without samples. */
export function quantile(samples: readonly number[], q: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}
