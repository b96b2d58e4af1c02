/**
 * What `make bench` measured before (baseline.json): each row beside its ratio then. Ratios alone, since the machine is
 * in both sides of them. They are shown and never judged; counts are, by the rows themselves.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Row } from "./row.ts";

export interface Former {
  readonly ratio: number;
  /** When and on what it was measured. */
  readonly when: string;
}

export type Baseline = Readonly<Record<string, Former>>;

const file = fileURLToPath(new URL("baseline.json", import.meta.url));

/** Empty when there is none. Throws where the file is no JSON. */
export function readBaseline(): Baseline {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Baseline) : {};
}

/** Replaces the rows that were measured, and keeps the others. */
export function writeBaseline(rows: readonly Row[], when: string): void {
  writeFileSync(file, `${JSON.stringify(merged(readBaseline(), rows, when), undefined, 2)}\n`);
}

/** In the order of their names. A row without a ratio is left out. */
export function merged(known: Baseline, rows: readonly Row[], when: string): Baseline {
  const measured = rows.flatMap(({ what, ratio }): [string, Former][] =>
    Number.isFinite(ratio) ? [[what, { ratio: rounded(ratio), when }]] : [],
  );
  const all = { ...known, ...Object.fromEntries(measured) };
  return Object.fromEntries(Object.entries(all).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** "baseline 0.72 (2026-11-21, AMD EPYC): 1.10 times as good"; undefined when the row is not in it. */
export function comparison({ what, ratio }: Row, baseline: Baseline): string | undefined {
  const former = Object.hasOwn(baseline, what) ? baseline[what] : undefined;
  if (former === undefined) return undefined;
  return `baseline ${former.ratio} (${former.when}): ${(ratio / former.ratio).toFixed(2)} times as good now`;
}

/** Three digits: more would only be noise. */
function rounded(ratio: number): number {
  return Number(ratio.toPrecision(3));
}
