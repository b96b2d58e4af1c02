/** What the PodProtectors say at the end beside what the clusters hold. */
export interface PodCount {
  readonly total: number;
  readonly available: number;
}

/** By `namespace/name` of the workload. */
export type PodCounts = ReadonlyMap<string, PodCount>;

export interface SeenProtector {
  /** `namespace/name` of its workload. */
  readonly workload: string;
  readonly cells: ReadonlyMap<string, PodCount>;
  /** Over all cells, by the summary. */
  readonly summary: PodCount;
  /** Admissions that are not settled. */
  readonly buckets: number;
}

const none: PodCount = { total: 0, available: 0 };
const textOf = ({ total, available }: PodCount): string => `${available} of ${total} pods available`;
const isSame = (a: PodCount, b: PodCount): boolean => a.total === b.total && a.available === b.available;

/**
 * One line for each difference: a workload without PodProtector and the other way round, a count that is not what the
 * cluster of the cell lists, a summary that is not their sum, an admission that is still open.
 */
export function differences(
  workloads: readonly string[],
  protectors: readonly SeenProtector[],
  cells: ReadonlyMap<string, PodCounts>,
): readonly string[] {
  const known = new Map(protectors.map((protector) => [protector.workload, protector]));
  const lines = protectors
    .filter(({ workload }) => !workloads.includes(workload))
    .map(({ workload }) => `${workload}: there is a PodProtector and no workload`);
  for (const workload of workloads) {
    const protector = known.get(workload);
    if (protector === undefined) lines.push(`${workload}: there is no PodProtector`);
    else lines.push(...differencesOf(protector, cells));
  }
  return lines;
}

function differencesOf(protector: SeenProtector, cells: ReadonlyMap<string, PodCounts>): readonly string[] {
  const { workload, summary, buckets } = protector;
  const lines: string[] = [];
  let sum = none;
  for (const [cell, counts] of cells) {
    const listed = counts.get(workload) ?? none;
    const counted = protector.cells.get(cell) ?? none;
    sum = { total: sum.total + listed.total, available: sum.available + listed.available };
    if (!isSame(listed, counted))
      lines.push(`${workload} in ${cell}: counted are ${textOf(counted)}, listed ${textOf(listed)}`);
  }
  if (!isSame(sum, summary)) lines.push(`${workload}: the summary has ${textOf(summary)}, the cells ${textOf(sum)}`);
  if (buckets > 0) lines.push(`${workload}: ${buckets} admissions are still open`);
  return lines;
}
