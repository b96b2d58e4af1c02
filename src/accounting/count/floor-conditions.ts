/**
 * The conditions of a PodProtector that its aggregators write (docs/conditions.md): where it stands against its floor,
 * and which cells have to count. They are found in the object alone, so that the aggregators of all cells agree.
 */
import { type FoundConditions, type Holding, readyOf } from "../../api/v1alpha1/conditions.ts";
import { type CellStatus, type PodProtectorSpec, type PodProtectorStatus } from "../../api/v1alpha1/pod-protector.ts";
import { totalWeight } from "../history/bucket.ts";
import { type CountedSpec } from "./counted-spec.ts";
import { criterionFor, healthCriteria } from "./health-criterion.ts";
import { standingOf, type SummarizedSpec } from "./summary.ts";

/** Cells named in a message, so that a person can read it. */
const namedCellsMax = 8;

/**
 * By what the columns of kubectl show: cells that have to count again are in it with their last counts, and
 * CountsPending says so. `question`: what counts have to answer.
 */
export function floorConditions(
  spec: SummarizedSpec & Pick<PodProtectorSpec, "foreignOwners">,
  status: Pick<PodProtectorStatus, "cells">,
  question: CountedSpec,
): FoundConditions {
  const { minAvailable } = spec;
  const { counted, promised } = standingOf(status.cells, spec);
  const estimated = counted - promised;
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
        message: "No pod is free: the available pods, less those promised, are as many as must stay",
      },
    BelowFloor: hasFloor &&
      estimated < minAvailable && {
        reason: "TooFewAvailable",
        message: "The available pods, less those promised, are fewer than must stay",
      },
    CountsPending: pending.length > 0 && {
      reason: "NotCounted",
      message: `Not counted since the PodProtector was created or edited: ${names}${more}`,
    },
    SpecIgnored: unknownCriterion(spec),
    ForeignPods: foreignPods(spec, status),
  };
}

/** A list says what is to be left out. Without one such pods count, and a person is told of the list. */
function foreignPods(
  { foreignOwners }: Pick<PodProtectorSpec, "foreignOwners">,
  { cells }: Pick<PodProtectorStatus, "cells">,
): Holding<"ForeignPods"> | false {
  const pods = cells.reduce((sum, { aggregation }) => sum + (aggregation?.foreignReplicas ?? 0), 0);
  if (pods === 0) return false;
  const whose = `${pods} of the pods that match belong to other owners`;
  if (foreignOwners === undefined) {
    const message = `${whose}, and count as replicas: podseidon approve foreign-pods leaves them out`;
    return { reason: "Counted", message };
  }
  return { reason: "LeftOut", message: `${whose}, and are neither counted nor protected` };
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

/**
 * Whether `next`, the status as it should be, tells people something that the one that is `known` tells otherwise:
 * where it stands, what is free, or which generation of the spec that is about. What is absent is no news: Ready and
 * the fields of the summary come with a write that is made anyway. Else an upgrade, or a Go component that drops them,
 * would cost a write of each object.
 */
export function hasNews(known: PodProtectorStatus, next: PodProtectorStatus): boolean {
  const { disruptionsAllowed: free } = known.summary;
  if (free !== undefined && free !== next.summary.disruptionsAllowed) return true;
  const observed = readyOf(known.conditions)?.observedGeneration;
  if (observed !== undefined && observed !== readyOf(next.conditions)?.observedGeneration) return true;
  const told = new Map((known.conditions ?? []).map((condition) => [condition.type, condition]));
  return (next.conditions ?? []).some(({ type, status, reason, message }) => {
    const before = told.get(type);
    // Ready follows from the others. Another release may have another word for it, and would answer each write.
    if (type === "Ready") return false;
    return before?.status !== status || before.reason !== reason || before.message !== message;
  });
}
