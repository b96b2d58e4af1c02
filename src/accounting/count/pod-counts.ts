/** Counts the pods of one cell for one PodProtector. */
import { type PodRecord } from "../../api/pod.ts";
import { newerResourceVersion, type ResourceVersion } from "../../api/resource-version.ts";
import { type EpochMicros, laterOf } from "../../util/clock.ts";
import { availableFrom } from "./health-criterion.ts";

export interface PodCounts {
  readonly totalReplicas: number;
  readonly availableReplicas: number;
  readonly readyReplicas: number;
  readonly scheduledReplicas: number;
  readonly initializedReplicas: number;
  readonly runningReplicas: number;
  /** Of those that are not Ready: they may well serve. Absent = none, as nearly always. */
  readonly unseenReplicas?: number;
  /** Of other owners, counted or left out; absent = none. */
  readonly foreignReplicas?: number;
}

export interface PodCensus {
  readonly counts: PodCounts;
  /** When the next Ready pod becomes available; undefined when none is waiting. */
  readonly nextAvailableAt: EpochMicros | undefined;
  /** The newest moment at which a pod that is counted as available became so; undefined when none is counted. */
  readonly newestAvailableAt: EpochMicros | undefined;
  /** The highest version of a pod that is unseen; undefined = none is. */
  readonly newestUnseen: ResourceVersion | undefined;
  /**
   * The newest moment at which a Ready pod would be available by its own Ready time that is not gone by, whether it is
   * counted yet or not; undefined when none is after `now`.
   */
  readonly aheadUntil: EpochMicros | undefined;
}

/**
 * Counts `pods` at the moment `now`. Terminating and finished pods count for nothing. O(pods).
 * @param readySince since when a Ready pod has been so (ready-times.ts)
 */
export function countPods(
  pods: Iterable<PodRecord>,
  minReadySeconds: number,
  now: EpochMicros,
  readySince: (pod: PodRecord) => EpochMicros | undefined,
): PodCensus {
  const counts = {
    totalReplicas: 0,
    availableReplicas: 0,
    readyReplicas: 0,
    scheduledReplicas: 0,
    initializedReplicas: 0,
    runningReplicas: 0,
  };
  let unseenReplicas = 0;
  let newestUnseen: ResourceVersion | undefined;
  let nextAvailableAt: EpochMicros | undefined;
  let newestAvailableAt: EpochMicros | undefined;
  let aheadUntil: EpochMicros | undefined;
  for (const pod of pods) {
    if (pod.isTerminating || pod.isTerminal) continue;
    counts.totalReplicas += 1;
    if (pod.isReady) counts.readyReplicas += 1;
    else if (pod.isUnseen) {
      unseenReplicas += 1;
      newestUnseen = newerResourceVersion(pod.resourceVersion, newestUnseen);
    }
    if (pod.isScheduled) counts.scheduledReplicas += 1;
    if (pod.isInitialized) counts.initializedReplicas += 1;
    if (pod.isRunning) counts.runningReplicas += 1;
    const from = availableFrom(pod, minReadySeconds, readySince(pod));
    if (from === undefined) continue;
    const byItself = availableFrom(pod, minReadySeconds) ?? from;
    if (byItself > from && byItself > now) aheadUntil = laterOf(byItself, aheadUntil);
    if (from <= now) {
      counts.availableReplicas += 1;
      if (newestAvailableAt === undefined || from > newestAvailableAt) newestAvailableAt = from;
    } else if (nextAvailableAt === undefined || from < nextAvailableAt) {
      nextAvailableAt = from;
    }
  }
  return {
    counts: unseenReplicas === 0 ? counts : { ...counts, unseenReplicas },
    nextAvailableAt,
    newestAvailableAt,
    newestUnseen,
    aheadUntil,
  };
}
