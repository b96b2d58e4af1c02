/**
 * Pods as a simulation takes them, and which of them kubectl drain evicts (kubectl's pkg/drain/filters.go). The door
 * for objects of a worker.
 */
import { type HealthCriterion, healthCriteria } from "../../accounting/count/health-criterion.ts";
import { asList, asObject, fieldsOf } from "../../api/json.ts";
import { type PodRecord, readAnnotations, readPodRecord } from "../../api/pod.ts";
import { annotations } from "../../api/v1alpha1/names.ts";
import { type Deletion } from "../../webhook/deletion.ts";

/** The kubelet's own copy of a pod of its files, which nobody can delete for good. */
const mirrorAnnotation = "kubernetes.io/config.mirror";

export interface SimulatedPod {
  readonly record: PodRecord;
  readonly node: string;
  /** What the pod asks to be judged by, as the webhook reads it by default; undefined = nothing. */
  readonly criterion: HealthCriterion | undefined;
  /** It has the annotation by which its deletion is always allowed. */
  readonly isForced: boolean;
  readonly isPending: boolean;
  /** Kind of its controller; undefined = nobody replaces it. */
  readonly controllerKind: string | undefined;
  readonly isMirror: boolean;
  /** Volumes whose data goes with the pod. */
  readonly hasEmptyDir: boolean;
}

/** Undefined without a name, namespace, UID or valid resourceVersion. Never throws. */
export function readSimulatedPod(raw: unknown): SimulatedPod | undefined {
  const record = readPodRecord(raw, undefined, () => undefined);
  if (record === undefined) return undefined;
  const { metadata, spec, status } = fieldsOf(raw);
  const { nodeName, volumes } = fieldsOf(spec);
  const own = readAnnotations(raw);
  const controller = asList(fieldsOf(metadata)["ownerReferences"])
    .map(fieldsOf)
    .find((reference) => reference["controller"] === true);
  return {
    record,
    node: typeof nodeName === "string" ? nodeName : "",
    criterion: healthCriteria.find((one) => one !== "Available" && one === own[annotations.healthCriterion]),
    isForced: Object.hasOwn(own, annotations.forceDelete),
    isPending: fieldsOf(status)["phase"] === "Pending",
    controllerKind: controller === undefined ? undefined : String(controller["kind"]),
    isMirror: Object.hasOwn(own, mirrorAnnotation),
    hasEmptyDir: asList(volumes).some((volume) => asObject(fieldsOf(volume)["emptyDir"]) !== undefined),
  };
}

export function deletionOf(
  { record: pod, criterion, isForced }: SimulatedPod,
  operation: Deletion["operation"],
  cellID: string,
): Deletion {
  return { operation, cellID, pod, criterion, isForced };
}

/** Whether kubectl drain leaves the pod where it is. One of a DaemonSet that has finished is evicted. */
export function skippedByDrain({
  record,
  controllerKind,
  isMirror,
}: SimulatedPod): "daemon-set" | "mirror" | undefined {
  if (isMirror) return "mirror";
  return controllerKind === "DaemonSet" && !record.isTerminal ? "daemon-set" : undefined;
}

/** The flags without which kubectl drain does not begin, because of this pod. */
export function drainFlagsFor(pod: SimulatedPod): readonly string[] {
  const { record, controllerKind, hasEmptyDir } = pod;
  const skipped = skippedByDrain(pod);
  if (skipped !== undefined) return skipped === "mirror" ? [] : ["--ignore-daemonsets"];
  if (record.isTerminal) return [];
  return [...(hasEmptyDir ? ["--delete-emptydir-data"] : []), ...(controllerKind === undefined ? ["--force"] : [])];
}
