/**
 * The floor that a PodProtector had before its source changed, by the present rule, so that neither a flag, nor another
 * rounding, nor a new release of ours, nor a person who edited the PodProtector looks like a change of the source.
 * Pure.
 */
import { type DeploymentFacts } from "../../api/deployment.ts";
import { type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import { floorOf, type FloorRule } from "../floor.ts";

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
  present: DeploymentFacts,
  settled: DeploymentFacts | undefined,
  rule: FloorRule,
): number {
  if (settled !== undefined) return floorOf(settled, rule).minAvailable;
  const isOurs = rules.some((one) => floorOf(present, one).minAvailable === spec.minAvailable);
  return isOurs ? floorOf(present, rule).minAvailable : spec.minAvailable;
}
