/**
 * What a requested deletion needs from one PodProtector that counts the pod: nothing, a record, or quota
 * (docs/accounting.md#what-is-recorded).
 */
import { epochMicrosOf, type MicroTime } from "../../api/micro-time.ts";
import { type PodProtectorSpec } from "../../api/v1alpha1/pod-protector.ts";
import { type EpochMicros } from "../../util/clock.ts";
import { type PodDeletion } from "../history/record.ts";
import { availableFrom, canMeet, type HealthCriterion, isUnseenBy } from "../count/health-criterion.ts";

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

/**
 * Decides what the disruption needs.
 * @param countedAt the aggregator's clock when the cell was counted; undefined when there are no counts, or those of a
 *        Go aggregator
 * @param now this process's wall clock
 *
 * A pod is too young only if both clocks say so: one slow or fast clock alone gives no quota away.
 */
export function needOf(
  disruption: Disruption,
  { minAvailable, minReadySeconds }: Pick<PodProtectorSpec, "minAvailable" | "minReadySeconds">,
  countedAt: MicroTime | undefined,
  now: EpochMicros,
): Need {
  const { pod, criterion, operation } = disruption;
  if (pod.isTerminating || pod.isTerminal) return "nothing";
  const bestEffort = disruption.isForced || !disruption.isProtected || !hasFloor(minAvailable);
  if (isUnseenBy(criterion, pod) && disruption.isRepair !== true && !bestEffort) return "floor";
  if (!canMeet(criterion, pod, minReadySeconds)) {
    if (operation === "delete") return "nothing";
    return bestEffort ? "record-best-effort" : "record";
  }
  if (bestEffort) return "record-best-effort";
  if (criterion === "Available") {
    const from = availableFrom(pod, minReadySeconds);
    if (from !== undefined && from > now && (countedAt === undefined || from > epochMicrosOf(countedAt)))
      return "record";
  }
  return "quota";
}
