/** From two measured runs to what is shown at the end. Pure. */
import { type ChartData } from "./report/chart.ts";
import { type Point, type ServiceResult } from "./statistics.ts";
import { type RunResult } from "./story.ts";

export interface ServiceSize {
  readonly name: string;
  readonly replicas: number;
}

const noDeletions = { tried: 0, admitted: 0, refused: 0, unanswered: 0 };

/** One row for each service. A service without a measured floor is a mistake of the demo. */
export function serviceResults(
  sizes: readonly ServiceSize[],
  withPodseidon: RunResult,
  without: RunResult,
): readonly ServiceResult[] {
  return sizes.map(({ name, replicas }) => ({
    name,
    replicas,
    floor: withPodseidon.floors.get(name) ?? 0,
    lowestWith: withPodseidon.lowest.get(name) ?? 0,
    lowestWithout: without.lowest.get(name) ?? 0,
    deletions: withPodseidon.deletions.get(name) ?? noDeletions,
  }));
}

function shifted(points: readonly Point[], byMs: number): readonly Point[] {
  return points.map((point) => ({ ...point, atMs: point.atMs + byMs }));
}

/**
 * One chart for each service, from the moment when the floors were in force; both disasters begin at the same place.
 */
export function chartsOf(
  sizes: readonly ServiceSize[],
  withPodseidon: RunResult,
  without: RunResult,
): readonly ChartData[] {
  const { startMs, endMs, disasterMs } = withPodseidon;
  return sizes.map(({ name, replicas }) => ({
    service: name,
    replicas,
    floor: withPodseidon.floors.get(name) ?? 0,
    withPodseidon: shifted(withPodseidon.points.get(name) ?? [], -startMs),
    withoutPodseidon: shifted(without.points.get(name) ?? [], disasterMs - without.disasterMs - startMs),
    acts: withPodseidon.acts.map(({ title, fromMs, toMs }) => ({
      title,
      fromMs: fromMs - startMs,
      toMs: toMs - startMs,
    })),
    marks: withPodseidon.marks.map(({ atMs, text }) => ({ atMs: atMs - startMs, text })),
    endMs: endMs - startMs,
    withoutEndMs: without.endMs + disasterMs - without.disasterMs - startMs,
  }));
}
