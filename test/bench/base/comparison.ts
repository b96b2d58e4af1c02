/**
 * What `make bench BASE=<commit>` says of two commits: the rows of both, which were measured in turns, side by side.
 * What is compared is the ratio of a row, so that what a commit is compared with in its own run is in it too.
 */
import { type Row } from "../row.ts";

/** A row of one run, as bench.json has it: JSON knows no NaN. */
export type Measured = Pick<Row, "what"> & { readonly ratio: number | null };

/** One run of each commit, one after the other. */
export interface Turn {
  readonly base: readonly Measured[];
  readonly own: readonly Measured[];
}

export interface Compared {
  readonly what: string;
  /** Medians of all turns. */
  readonly base: number;
  readonly own: number;
  /** Of the medians: 1.1 = a tenth better than the base. */
  readonly ratio: number;
  /** The worst and the best turn, each against the run of the base just before it. */
  readonly least: number;
  readonly most: number;
  readonly isWorse: boolean;
}

/** A median that is worse by less than this is no finding: so far apart are two runs of the same commit. */
const worseMin = 0.03;

/** Rows that only one of the two has, or that were not measured in each turn, are named in `unpaired`. */
export function compare(turns: readonly Turn[]): {
  readonly rows: readonly Compared[];
  readonly unpaired: readonly string[];
} {
  const runs = turns.flatMap(({ base, own }) => [base, own]).map(ratiosByName);
  const everywhere = (name: string): boolean => runs.every((run) => run.has(name));
  // Some rows have what was measured in their names, such as the length of a history.
  const keyOf = (name: string): string => (everywhere(name) ? name : name.replaceAll(/\d[\d.,]*/g, "#"));
  const keyed = runs.map((run) => new Map([...run].map(([name, ratio]) => [keyOf(name), ratio])));
  const names = [...new Set(keyed.flatMap((run) => [...run.keys()]))];
  const isPaired = (name: string): boolean => keyed.every((run) => run.has(name));
  const rows = names.filter(isPaired).map((what) => {
    const ratios = keyed.map((run) => run.get(what) ?? Number.NaN);
    return compared(
      what,
      ratios.filter((_, index) => index % 2 === 0),
      ratios.filter((_, index) => index % 2 === 1),
    );
  });
  return { rows, unpaired: names.filter((name) => !isPaired(name)) };
}

function ratiosByName(run: readonly Measured[]): ReadonlyMap<string, number> {
  return new Map(run.flatMap(({ what, ratio }) => (ratio === null || !Number.isFinite(ratio) ? [] : [[what, ratio]])));
}

/** Worse is what no turn explains as chance: the median is clearly worse, and so is each single turn. */
function compared(what: string, base: readonly number[], own: readonly number[]): Compared {
  const pairs = own.map((ratio, turn) => ratio / (base[turn] ?? Number.NaN));
  const [least, most] = [Math.min(...pairs), Math.max(...pairs)];
  const [baseMedian, ownMedian] = [median(base), median(own)];
  const ratio = ownMedian / baseMedian;
  return { what, base: baseMedian, own: ownMedian, ratio, least, most, isWorse: ratio < 1 - worseMin && most < 1 };
}

/** Of an even number, the mean of the two in the middle. */
function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2;
}

/** A table in Markdown, so that it can be put into a note as it is. */
export function comparisonText(turns: readonly Turn[], baseName: string): string {
  const { rows, unpaired } = compare(turns);
  const cells = rows.map(({ what, base, own, ratio, least, most, isWorse }) => [
    what,
    String(Number(base.toPrecision(3))),
    String(Number(own.toPrecision(3))),
    `${ratio.toFixed(2)} (${least.toFixed(2)}..${most.toFixed(2)})${isWorse ? " **WORSE**" : ""}`,
  ]);
  const worse = rows.filter(({ isWorse }) => isWorse).length;
  return [
    `| row, ${turns.length} turns (higher is better) | ${baseName} | this | this / ${baseName} |`,
    "|---|---:|---:|---:|",
    ...cells.map((row) => `| ${row.join(" | ")} |`),
    "",
    ...unpaired.map((name) => `not in every run of both: ${name}`),
    worse === 0 ? "no row is worse" : `${worse} of ${rows.length} rows are worse by more than ${100 * worseMin} %`,
  ].join("\n");
}
