/**
 * What a PodProtector shows when deletions are over: nothing is promised any more, and in place of each pod that has
 * gone another one is available, if the pod has a controller that makes it. Pods that are not touched stay as they are.
 */
import { type PodRecord } from "../../api/pod.ts";
import { type Aggregation, type CellStatus, type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import { availableFrom, canMeet, type HealthCriterion } from "../../accounting/count/health-criterion.ts";
import { summarize } from "../../accounting/count/summary.ts";
import { type EpochMicros } from "../../util/clock.ts";

/** A counted pod that has gone. */
export interface GonePod {
  readonly cellID: string;
  readonly pod: PodRecord;
  /** It has a controller, which makes another one. */
  readonly isReplaced: boolean;
}

/** Which count of an aggregation answers a criterion. */
const countedFields = [
  ["Available", "availableReplicas"],
  ["Ready", "readyReplicas"],
  ["Running", "runningReplicas"],
  ["Initialized", "initializedReplicas"],
  ["Scheduled", "scheduledReplicas"],
] as const satisfies readonly (readonly [HealthCriterion, keyof Aggregation])[];

/**
 * `gone`: pods that this PodProtector counts. A cell that nobody has counted stays uncounted, and the other cells' old
 * counts stay old: replacements change numbers, not whether they are in force.
 */
export function settled(protector: PodProtector, gone: readonly GonePod[], now: EpochMicros): PodProtector {
  const { status, spec } = protector;
  if (status === undefined) return protector;
  const cells = status.cells.map(({ cellID, aggregation }): CellStatus => {
    if (aggregation === undefined) return { cellID };
    const ofCell = gone.filter((one) => one.cellID === cellID);
    return { cellID, aggregation: recounted(aggregation, ofCell, spec.minReadySeconds, now) };
  });
  return { ...protector, status: { ...status, cells, summary: summarize(cells, spec) } };
}

function recounted(
  before: Aggregation,
  gone: readonly GonePod[],
  minReadySeconds: number,
  now: EpochMicros,
): Aggregation {
  const counts: { -readonly [K in keyof Aggregation]: Aggregation[K] } = { ...before };
  for (const { pod, isReplaced } of gone) {
    // Such a pod is not counted any more: what comes in its place is there already, or counted when it comes.
    if (pod.isTerminating || pod.isTerminal) continue;
    if (!isReplaced) counts.totalReplicas = Math.max(0, counts.totalReplicas - 1);
    for (const [criterion, field] of countedFields) {
      const known = counts[field];
      if (known === undefined) continue;
      const change = (isReplaced ? 1 : 0) - (meets(criterion, pod, minReadySeconds, now) ? 1 : 0);
      counts[field] = Math.max(0, known + change);
    }
  }
  return counts;
}

/** Whether the pod was counted for the criterion. */
function meets(criterion: HealthCriterion, pod: PodRecord, minReadySeconds: number, now: EpochMicros): boolean {
  if (!canMeet(criterion, pod, minReadySeconds)) return false;
  const from = criterion === "Available" ? availableFrom(pod, minReadySeconds) : undefined;
  return from === undefined || from <= now;
}
