/**
 * The conditions of a PodProtector that its aggregators write (docs/conditions.md): where it stands against its floor,
 * and which cells have to count. They are found in the object alone, so that the aggregators of all cells agree.
 */
import { type FoundConditions, type Holding } from "../../api/v1alpha1/conditions.ts";
import { type CellStatus, type PodProtectorSpec, type PodProtectorStatus } from "../../api/v1alpha1/pod-protector.ts";
import { totalWeight } from "../history/bucket.ts";
import { type CountedSpec } from "./counted-spec.ts";
import { countFor, criterionFor, healthCriteria } from "./health-criterion.ts";

/** Cells named in a message, so that a person can read it. */
const namedCellsMax = 8;

/**
 * By the summary of `status`, as the columns of kubectl show it, but by the criterion of the PodProtector: cells that
 * have to count again are in it with their last counts, and CountsPending says so. `question`: what counts have to
 * answer.
 */
export function floorConditions(
  spec: Pick<PodProtectorSpec, "minAvailable" | "healthCriterion">,
  status: PodProtectorStatus,
  question: CountedSpec,
): FoundConditions {
  const { minAvailable } = spec;
  const estimated = estimatedBy(spec, status);
  // Without a floor nothing is refused.
  const hasFloor = minAvailable > 0;
  const isPending = ({ aggregation }: CellStatus): boolean =>
    aggregation === undefined || !question.isAnsweredBy(aggregation);
  const pending = status.cells.filter(isPending).map(({ cellID }) => JSON.stringify(cellID));
  const names = pending.slice(0, namedCellsMax).join(", ");
  const more = pending.length > namedCellsMax ? ` and ${pending.length - namedCellsMax} more` : "";
  return {
    AtFloor: hasFloor &&
      estimated === minAvailable && {
        reason: "NothingFree",
        message: "No pod is free: the promised deletions leave exactly as many as must stay",
      },
    BelowFloor: hasFloor &&
      estimated < minAvailable && {
        reason: "TooFewAvailable",
        message: "The promised deletions leave fewer pods than must stay",
      },
    CountsPending: pending.length > 0 && {
      reason: "NotCounted",
      message: `Not counted since the PodProtector was created or edited: ${names}${more}`,
    },
    SpecIgnored: unknownCriterion(spec),
  };
}

function estimatedBy(spec: Pick<PodProtectorSpec, "healthCriterion">, { cells, summary }: PodProtectorStatus): number {
  const criterion = criterionFor(undefined, spec);
  const counted = cells.reduce((sum, { aggregation }) => sum + (aggregation ? countFor(criterion, aggregation) : 0), 0);
  return counted + summary.estimatedAvailableReplicas - summary.aggregatedAvailableReplicas;
}

/** The CRD refuses it, unless it is another release's. */
function unknownCriterion(spec: Pick<PodProtectorSpec, "healthCriterion">): Holding<"SpecIgnored"> | false {
  const { healthCriterion } = spec;
  if (healthCriterion === undefined || healthCriteria.some((known) => known === healthCriterion)) return false;
  const message =
    `spec.healthCriterion is ignored, so it is ${criterionFor(undefined, spec)}: ` +
    `it must be one of ${healthCriteria.join(", ")}`;
  return { reason: "UnknownCriterion", message };
}

/**
 * Whether the aggregator of this cell writes conditions that nothing else gives cause to write, after an edit of the
 * floor for example. One cell does, the first that is counted, or all would race. Nobody does while admissions are
 * open: what settles them is written anyway.
 */
export function writesConditionsAlone(status: PodProtectorStatus, cellID: string): boolean {
  return (
    status.cells.find(({ aggregation }) => aggregation !== undefined)?.cellID === cellID &&
    status.cells.every(({ admissionHistory }) => totalWeight(admissionHistory?.buckets) === 0)
  );
}
