/**
 * The property by which a pod is judged and counted. A pod that is terminating or that has finished (Failed, Succeeded)
 * meets no criterion. Source: upstream, except for the criterion Initialized (docs/compatibility.md#extensions);
 * Kubernetes' podutil.IsPodAvailable for availability.
 */
import { type PodRecord } from "../../api/pod.ts";
import { type Aggregation, type PodProtectorSpec } from "../../api/v1alpha1/pod-protector.ts";
import { assertNever } from "../../util/assert.ts";
import { type EpochMicros } from "../../util/clock.ts";

export const healthCriteria = ["Scheduled", "Initialized", "Running", "Ready", "Available"] as const;
export type HealthCriterion = (typeof healthCriteria)[number];

/** Of a PodProtector that names none, and a deletion that asks for none. */
const defaultCriterion = "Available";

/**
 * By what a PodProtector judges: by what the deletion asks for, else by its own criterion, else by the default. Its own
 * may be anything where no schema has checked it; one that is unknown counts as absent.
 */
export function criterionFor(
  asked: HealthCriterion | undefined,
  { healthCriterion }: Pick<PodProtectorSpec, "healthCriterion">,
): HealthCriterion {
  return asked ?? healthCriteria.find((criterion) => criterion === healthCriterion) ?? defaultCriterion;
}

/**
 * The moment from which a pod that has been Ready since `readySince` counts as available (ready-times.ts; without it,
 * by its own Ready time); undefined when that is not known, or only a new version of the pod can make it so.
 */
export function availableFrom(
  pod: PodRecord,
  minReadySeconds: number,
  readySince = pod.readySince,
): EpochMicros | undefined {
  if (!pod.isReady || pod.isTerminating || pod.isTerminal) return undefined;
  if (minReadySeconds <= 0) return 0 as EpochMicros;
  return readySince === undefined ? undefined : ((readySince + minReadySeconds * 1_000_000) as EpochMicros);
}

/**
 * True when this version of the pod meets the criterion now, or will as time passes (Ready, but younger than
 * minReadySeconds, whatever its Ready time is).
 */
export function canMeet(criterion: HealthCriterion, pod: PodRecord): boolean {
  if (pod.isTerminating || pod.isTerminal) return false;
  switch (criterion) {
    case "Scheduled":
      return pod.isScheduled;
    case "Initialized":
      return pod.isInitialized;
    case "Running":
      return pod.isRunning;
    case "Ready":
    case "Available":
      return pod.isReady;
    default:
      return assertNever(criterion);
  }
}

/** True when a pod no longer meets the criterion once its kubelet has not been heard for long. */
export function isOfReadiness(criterion: HealthCriterion): boolean {
  return criterion === "Ready" || criterion === "Available";
}

/**
 * True when this version of the pod is only *unseen* for the criterion: it is not counted, and would be if its kubelet
 * were heard (docs/accounting.md#unseen-pods). The other criteria do not depend on that.
 */
export function isUnseenBy(criterion: HealthCriterion, pod: PodRecord): boolean {
  return pod.isUnseen && !pod.isTerminating && !pod.isTerminal && isOfReadiness(criterion);
}

/**
 * True when the criterion may refuse the deletion of this version of the pod. `isRepair`: by who repairs dead nodes, to
 * whom an unseen pod is one that is not Ready.
 */
export function mayRefuse(criterion: HealthCriterion, pod: PodRecord, isRepair = false): boolean {
  return canMeet(criterion, pod) || (!isRepair && isUnseenBy(criterion, pod));
}

/**
 * The count of a cell that the criterion compares with minAvailable: a cell counts for no more pods than the workload
 * says it can have, whatever its aggregator says (docs/accounting.md#pods-of-one-cell).
 */
export function countFor(
  criterion: HealthCriterion,
  counts: Aggregation,
  { maxPodsPerCell = Number.POSITIVE_INFINITY }: Pick<PodProtectorSpec, "maxPodsPerCell">,
): number {
  return Math.min(saidFor(criterion, counts), maxPodsPerCell);
}

/** What the aggregator of a cell says of itself, for that count. */
export function saidFor(criterion: HealthCriterion, counts: Aggregation): number {
  switch (criterion) {
    case "Scheduled":
      return counts.scheduledReplicas ?? 0;
    case "Initialized":
      // Absent = counted by a Go aggregator, which does not know this criterion; Ready pods are initialized.
      return counts.initializedReplicas ?? counts.readyReplicas ?? 0;
    case "Running":
      return counts.runningReplicas ?? 0;
    case "Ready":
      return counts.readyReplicas ?? 0;
    case "Available":
      return counts.availableReplicas;
    default:
      return assertNever(criterion);
  }
}
