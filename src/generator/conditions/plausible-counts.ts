/**
 * Whether the pods that cells say they have can be there at all, for the condition Implausible
 * (docs/conditions.md#implausible-counts). An alarm only: nothing is decided by it. It is about what one cell may say
 * of itself, wrong or forged, and everybody else adds up. Pure.
 */
import { type Holding } from "../../api/v1alpha1/conditions.ts";
import { overrides } from "../../api/v1alpha1/names.ts";
import { type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import { criterionFor, saidFor } from "../../accounting/count/health-criterion.ts";
import { type SourceKind, type SourceSpec } from "../../sources/source.ts";

/**
 * A federation may run all replicas in each cell, an autoscaler of a member many more than the root asks for, and a
 * rollout twice as many. A wrong alarm about those would teach people to overlook it.
 */
const timesMax = 10;
/** A root with one or two replicas may stand for an autoscaler of this many in each cell. */
const podsPerCellMax = 100;
/** Of what the owner says a cell can have, while a rollout surges by 100 %. */
const surgeTimes = 2;

/** Cells named in a message, so that a person can read it. */
const namedMax = 5;

/**
 * False = they can, or nobody knows: of a source by `scale`, or a budget, the replicas are no pods for certain. Without
 * a floor nothing hangs on it. The message has no numbers: scaling alone costs no write. `floorBefore`: before it was
 * lowered last, whenever that was.
 */
export function implausibleCounts(
  { kind, spec: { replicas } }: { readonly kind: SourceKind; readonly spec: Pick<SourceSpec, "replicas"> },
  protector: PodProtector,
  floorBefore: number | undefined,
): Holding<"Implausible"> | false {
  const { minAvailable, maxPodsPerCell } = protector.spec;
  const isOwnSpec = kind.readLive === undefined && kind.isNeverWritten !== true;
  if (minAvailable <= 0 || (!isOwnSpec && maxPodsPerCell === undefined)) return false;
  // Pods that a scale-down is to take may wait for long, and then no clock says for how long.
  const expected = Math.max(replicas, minAvailable, floorBefore ?? 0);
  const perCell = Math.max(isOwnSpec ? expected * timesMax + podsPerCellMax : 0, (maxPodsPerCell ?? 0) * surgeTimes);
  const criterion = criterionFor(undefined, protector.spec);
  const said = (protector.status?.cells ?? []).flatMap(({ cellID, aggregation }) =>
    aggregation === undefined ? [] : [{ cellID, pods: saidFor(criterion, aggregation) }],
  );
  if (said.reduce((sum, { pods }) => sum + pods, 0) <= perCell * said.length) return false;
  const cells = said.filter(({ pods }) => pods > perCell).map(({ cellID }) => JSON.stringify(cellID));
  const more = cells.length > namedMax ? ` and ${cells.length - namedMax} more` : "";
  return {
    reason: "TooManyPods",
    message:
      `Far more pods are counted than ${kind.kind} asks for, in ${cells.length === 1 ? "cell" : "cells"} ` +
      `${cells.slice(0, namedMax).join(", ")}${more}: what is free is not to be believed. ` +
      `If they are there, ${overrides.maxPodsPerCell} says how many a cell can have`,
  };
}
