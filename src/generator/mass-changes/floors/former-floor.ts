/**
 * The floor that a PodProtector had before its source changed, by the present rule, so that neither a flag, nor another
 * rounding, nor a new release of ours, nor a person who edited the PodProtector looks like a change of the source.
 * Pure.
 */
import { type PodProtector } from "../../../api/v1alpha1/pod-protector.ts";
import { type FloorRule } from "../../../sources/floor.ts";
import { type SourceSpec } from "../../../sources/source.ts";

/** Every rule that a generator may have had. Upstream's is one of them: percentages round up. */
const rules: readonly FloorRule[] = (["at-least-one", "up", "down"] as const).flatMap((percentRounding) =>
  (["drainable", "protected"] as const).map((singleReplica) => ({ percentRounding, singleReplica })),
);

/**
 * `settled`: the source when this process last saw the two agree; undefined = never. Without it, a floor that any rule
 * makes of the present source is taken for one that the source did not change.
 */
export function formerFloorOf(
  { spec }: PodProtector,
  present: SourceSpec,
  settled: SourceSpec | undefined,
  rule: FloorRule,
): number {
  if (settled !== undefined) return settled.floorBy(rule).minAvailable;
  const isOurs = rules.some((one) => present.floorBy(one).minAvailable === spec.minAvailable);
  return isOurs ? present.floorBy(rule).minAvailable : spec.minAvailable;
}
