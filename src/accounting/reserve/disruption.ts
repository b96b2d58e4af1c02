/**
 * What a requested deletion needs from one PodProtector that counts the pod: nothing, a record, or quota
 * (docs/accounting.md#what-is-recorded).
 */
import { epochMicrosOf } from "../../api/micro-time.ts";
import { type Aggregation, type PodProtectorSpec } from "../../api/v1alpha1/pod-protector.ts";
import { type PodRecord } from "../../api/pod.ts";
import { type EpochMicros } from "../../util/clock.ts";
import { type PodDeletion } from "../history/record.ts";
import { availableFrom, canMeet, type HealthCriterion, isUnseenBy } from "../count/health-criterion.ts";
import { tellsAge } from "../count/ready-times.ts";

/** The deletion of one pod, as one PodProtector sees it. */
export interface Disruption extends PodDeletion {
  readonly criterion: HealthCriterion;
  /** spec.selector matches the pod; false = it is only counted. */
  readonly isProtected: boolean;
  /** The force-delete annotation: allowed whatever the quota says. */
  readonly isForced: boolean;
  /** By who repairs dead nodes, after a patience and with brakes of its own: an unseen pod is one that is not Ready. */
  readonly isRepair?: boolean | undefined;
  /** The PodProtector refuses nothing: it is judged like any other, and recorded in any case. */
  readonly isShadow?: boolean;
}

export type Need =
  /**
   * Needs nothing and is not recorded: a pod that is terminating or has finished, and a DELETE of a pod that could meet
   * its criterion only at a new version, at which it would be reviewed again.
   */
  | "nothing"
  /** Allowed and recorded if possible: forced, counted but not protected, or judged by no floor. */
  | "record-best-effort"
  /**
   * Needs no quota, but is allowed only with a record: a pod that is too young, or the eviction of one that does not
   * meet its criterion.
   */
  | "record"
  /** Takes nothing, but goes only where the pods that are seen reach the floor. */
  | "floor"
  /** Needs quota. */
  | "quota";

/** Whether there is anything to keep. A PodProtector without a floor refuses nothing. */
export function hasFloor(minAvailable: number): boolean {
  return minAvailable > 0;
}

/** What counts tell of the age of pods: nothing where there are none, or those of a Go aggregator. */
export type CountedAges = Pick<Aggregation, "countedAt" | "countedAhead">;

/**
 * Decides what the disruption needs.
 * @param ages of the counts of the pod's cell
 * @param now this process's wall clock
 */
export function needOf(
  disruption: Disruption,
  { minAvailable, minReadySeconds }: Pick<PodProtectorSpec, "minAvailable" | "minReadySeconds">,
  ages: CountedAges | undefined,
  now: EpochMicros,
): Need {
  const { pod, criterion, operation } = disruption;
  if (pod.isTerminating || pod.isTerminal) return "nothing";
  const bestEffort = disruption.isForced || !disruption.isProtected || !hasFloor(minAvailable);
  if (isUnseenBy(criterion, pod) && disruption.isRepair !== true && !bestEffort) return "floor";
  if (!canMeet(criterion, pod)) {
    if (operation === "delete") return "nothing";
    return bestEffort ? "record-best-effort" : "record";
  }
  if (bestEffort) return "record-best-effort";
  return criterion === "Available" && isTooYoung(pod, minReadySeconds, ages, now) ? "record" : "quota";
}

/**
 * A pod is too young only if both clocks say so: one slow or fast clock alone gives no quota away. And only by a Ready
 * time that tells its age; of the others the aggregator may have counted any.
 */
function isTooYoung(
  pod: PodRecord,
  minReadySeconds: number,
  { countedAt, countedAhead }: CountedAges = {},
  now: EpochMicros,
): boolean {
  const from = availableFrom(pod, minReadySeconds);
  if (!tellsAge(pod.readySince, now) || from === undefined || from <= now) return false;
  return [countedAt, countedAhead].every((until) => until === undefined || from > epochMicrosOf(until));
}
