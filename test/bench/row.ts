/** One line of the table of `make bench`, and how it is printed. */
export interface Row {
  readonly what: string;
  readonly figure: string;
  /** What was measured beside it in the same run, or a limit that is not to be passed. */
  readonly comparedWith: string;
  /**
   * How many times as good as what it is compared with: 2 = twice as fast, or half of the limit. Where it says CPU, by
   * CPU time.
   */
  readonly ratio: number;
  /** What the ratio is to reach, where something was promised. */
  readonly goal?: number;
  /** A count is above what was promised. The run fails then: a count is the same on every machine. */
  readonly exceeded?: string;
  /** What else was seen, such as who used the CPU; one line each. */
  readonly besides?: readonly string[];
}

/** The value below which the part `q` of the samples lies; NaN without samples. */
export function quantile(samples: readonly number[], q: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}

/** "p50 1.2 ms, p99 3.4 ms". */
export function latencyText(latenciesMs: readonly number[]): string {
  return `p50 ${quantile(latenciesMs, 0.5).toFixed(1)} ms, p99 ${quantile(latenciesMs, 0.99).toFixed(1)} ms`;
}

const columns = 80;

/** The row as lines of at most 80 characters. */
export function rowText(row: Row): string {
  const { what, figure, comparedWith, ratio, goal, exceeded, besides = [] } = row;
  const digits = ratio < 10 ? 2 : 0;
  const verdict = goal === undefined ? "" : `, goal ${goal}: ${ratio >= goal ? "reached" : "MISSED"}`;
  const lines = [`${figure}; ${comparedWith}`, `ratio ${ratio.toFixed(digits)}${verdict}`, ...besides];
  if (exceeded !== undefined) lines.push(`FAILED: ${exceeded}`);
  const [head = "", ...rest] = wrap(what, columns - 2);
  return [
    head,
    ...rest.map((part) => `  ${part}`),
    ...lines.flatMap((line) => wrap(line, columns - 4).map((part) => `    ${part}`)),
  ].join("\n");
}

function wrap(line: string, width: number): readonly string[] {
  const parts: string[] = [];
  for (const word of line.split(" ")) {
    const last = parts.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) parts[parts.length - 1] = `${last} ${word}`;
    else parts.push(word);
  }
  return parts;
}
