/**
 * What Podseidon reads of a pod, as a flat record. Objects of several kilobytes become a few hundred bytes; the caller
 * can share label sets through `intern`.
 */
import { type ObjectKey, objectKey } from "./object-key.ts";
import { type EpochMicros, laterOf } from "../util/clock.ts";
import { asList, asObject, fieldsOf } from "./json.ts";
import {
  type Unchecked,
  type V1ObjectMeta,
  type V1Pod,
  type V1PodCondition,
  type V1PodStatus,
  type V1OwnerReference,
} from "./models.ts";
import { parseTime } from "./micro-time.ts";
import { parseResourceVersion, type ResourceVersion } from "./resource-version.ts";
import { annotations } from "./v1alpha1/names.ts";

export type Labels = Readonly<Record<string, string>>;

export interface PodRecord {
  /** namespace/name. */
  readonly key: ObjectKey;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: ResourceVersion;
  readonly labels: Labels;
  /** A deletionTimestamp is set. */
  readonly isTerminating: boolean;
  /** Phase Failed or Succeeded: the pod never runs again and is not counted. */
  readonly isTerminal: boolean;
  /** Condition PodScheduled is True. */
  readonly isScheduled: boolean;
  /** Condition Initialized is True. */
  readonly isInitialized: boolean;
  /** Phase Running. */
  readonly isRunning: boolean;
  /** Condition Ready is True. */
  readonly isReady: boolean;
  /**
   * Its kubelet is not heard: the control plane has made Ready False, without a reason, and left ContainersReady True
   * (Kubernetes' MarkPodsNotReady; a kubelet gives a reason, and readiness gates are one). It may well serve.
   */
  readonly isUnseen: boolean;
  /** lastTransitionTime of the Ready condition while it is True; undefined when it cannot be one. */
  readonly readySince: EpochMicros | undefined;
  /** The newest moment that the object itself proves, by the reader that `readPodRecord` was given. */
  readonly eventTime: EpochMicros | undefined;
  /** Of its workload, by the reader that `readPodRecord` was given; undefined without one. */
  readonly workloadKind: string | undefined;
  /** Kind and group of its controller, as "Job.batch", or "Node" of the core group; undefined = it has none. */
  readonly controllerKind: string | undefined;
}

const noLabels: Labels = Object.freeze({});

/**
 * Reads a v1 Pod from JSON or decoded protobuf. Undefined without a name, namespace, UID or valid resourceVersion.
 * Never throws.
 */
export function readPodRecord(
  raw: unknown,
  intern: (labels: Labels) => Labels = (labels) => labels,
  readEventTime: ReadEventTime = readManagedFieldsTime,
  readKind: ReadWorkloadKind = () => undefined,
): PodRecord | undefined {
  const pod = fieldsOf<V1Pod>(raw);
  const metadata = fieldsOf<V1ObjectMeta>(pod.metadata);
  const { name, namespace, uid, deletionTimestamp } = metadata;
  const resourceVersion = parseResourceVersion(metadata.resourceVersion);
  if (resourceVersion === undefined) return undefined;
  if (typeof name !== "string" || typeof namespace !== "string" || typeof uid !== "string") return undefined;
  if (name === "" || namespace === "" || uid === "") return undefined;

  const status = asObject<V1PodStatus>(pod.status);
  const phase = status?.phase;
  const conditions = readConditions(status);
  return {
    key: objectKey(namespace, name),
    namespace,
    name,
    uid,
    resourceVersion,
    labels: intern(readStringMap(metadata.labels)),
    isTerminating: typeof deletionTimestamp === "string" || deletionTimestamp instanceof Date,
    isTerminal: phase === "Failed" || phase === "Succeeded",
    isScheduled: conditions.isScheduled,
    isInitialized: conditions.isInitialized,
    isRunning: phase === "Running",
    isReady: conditions.isReady,
    isUnseen: phase === "Running" && conditions.isWithdrawn,
    readySince: conditions.readySince,
    eventTime: readEventTime(metadata, status),
    workloadKind: readKind(metadata),
    controllerKind: readControllerKind(metadata),
  };
}

/** The annotations of a raw object; empty when there are none. */
export function readAnnotations(raw: unknown): Labels {
  return readStringMap(fieldsOf<V1ObjectMeta>(fieldsOf<V1Pod>(raw).metadata).annotations);
}

/** The labels of a raw object; empty when there are none. */
export function readLabels(raw: unknown): Labels {
  return readStringMap(fieldsOf<V1ObjectMeta>(fieldsOf<V1Pod>(raw).metadata).labels);
}

function readStringMap(value: unknown): Labels {
  const map = asObject(value);
  if (map === undefined) return noLabels;
  for (const key in map) {
    if (typeof map[key] === "string") continue;
    return Object.fromEntries(
      Object.entries(map).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
    );
  }
  return map as Labels;
}

/**
 * No pod was Ready before there was Kubernetes. Clocks that have lost their power begin in 1970 or 2000, and a zero
 * time is of the year 1.
 */
const firstReadyTime = Date.parse("2014-06-06T00:00:00Z") * 1000;

function readConditions(
  status: Unchecked<V1PodStatus> | undefined,
): Pick<PodRecord, "isScheduled" | "isInitialized" | "isReady" | "readySince"> & { readonly isWithdrawn: boolean } {
  let isScheduled = false;
  let isInitialized = false;
  let isReady = false;
  let areContainersReady = false;
  let isNotReadyForNoReason = false;
  let readySince: EpochMicros | undefined;
  for (const item of asList(status?.conditions)) {
    const { type, status: is, reason, lastTransitionTime } = fieldsOf<V1PodCondition>(item);
    if (type === "Ready" && is === "False") isNotReadyForNoReason = reason === undefined || reason === "";
    if (is !== "True") continue;
    if (type === "PodScheduled") isScheduled = true;
    else if (type === "Initialized") isInitialized = true;
    else if (type === "ContainersReady") areContainersReady = true;
    else if (type === "Ready") {
      isReady = true;
      const time = parseTime(lastTransitionTime);
      readySince = time !== undefined && time < firstReadyTime ? undefined : time;
    }
  }
  return {
    isScheduled,
    isInitialized,
    isReady,
    isWithdrawn: isNotReadyForNoReason && areContainersReady && !isReady,
    readySince,
  };
}

/**
 * The moment that an event of a pod proves: the pod was written then, so a watch that delivers the event has advanced
 * at least that far. Each reader trusts other fields; accounting/settle/sync-time.ts says which algorithm uses which.
 * Times are texts (JSON) or Dates (protobuf). Reads `metadata` and `status` of a pod; undefined when they prove no
 * time. Never throws.
 */
export type ReadEventTime = (
  metadata: Unchecked<V1ObjectMeta>,
  status: Unchecked<V1PodStatus> | undefined,
) => EpochMicros | undefined;

/** The newest of creation, request of the deletion, touch of the update-trigger, and managedFields times. */
export const readManagedFieldsTime: ReadEventTime = (metadata) => {
  let newest = readOwnTime(metadata);
  for (const entry of asList(metadata.managedFields)) newest = laterOf(newest, parseTime(fieldsOf(entry)["time"]));
  return newest;
};

/**
 * The newest of creation, request of the deletion, touch of the update-trigger, and transitions and probes of
 * conditions.
 */
export const readStatusTime: ReadEventTime = (metadata, status) => {
  let newest = readOwnTime(metadata);
  for (const item of asList(status?.conditions)) {
    const { lastTransitionTime, lastProbeTime } = fieldsOf<V1PodCondition>(item);
    newest = laterOf(laterOf(newest, parseTime(lastTransitionTime)), parseTime(lastProbeTime));
  }
  return newest;
};

/**
 * Only the annotation `key`: RFC 3339 with at most nine fractional digits, cut to microseconds. Other values are
 * ignored.
 */
export function annotationTimeReader(key: string): ReadEventTime {
  return (metadata) => parseTime(fieldsOf(metadata.annotations)[key]);
}

function readOwnTime(metadata: Unchecked<V1ObjectMeta>): EpochMicros | undefined {
  const created = parseTime(metadata.creationTimestamp);
  const touched = parseTime(fieldsOf(metadata.annotations)[annotations.updateTriggerTime]);
  const newest = laterOf(created, touched);
  // deletionTimestamp is the time of the request plus the grace period, so it is in the future.
  const deletion = parseTime(metadata.deletionTimestamp);
  const graceSeconds = metadata.deletionGracePeriodSeconds;
  if (deletion === undefined || typeof graceSeconds !== "number") return newest;
  return laterOf(newest, (deletion - graceSeconds * 1_000_000) as EpochMicros);
}

/**
 * The kind of workload that a pod belongs to, as people know it: of its controller, or of that one's controller where a
 * label tells. Of a pod that nobody controls.
 */
export const noWorkload = "Pod";
/** In place of a kind that cannot be one. */
export const otherWorkload = "other";

/** Reads it from the metadata of a pod; undefined = it is not wanted. */
export type ReadWorkloadKind = (metadata: Unchecked<V1ObjectMeta>) => string | undefined;

/** A kind is the name of a type: anybody who makes pods may write anything there. */
const kindPattern = /^[A-Za-z][A-Za-z0-9]{0,62}$/;

/** Of an API group: a DNS name. */
const groupPattern = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/** A kind with its group, as Kubernetes writes it: "Job.batch", or "Node" of the core group. */
export function isGroupKind(text: string): boolean {
  const dot = text.indexOf(".");
  if (dot === -1) return kindPattern.test(text);
  return kindPattern.test(text.slice(0, dot)) && groupPattern.test(text.slice(dot + 1));
}

/** In place of a controller's kind that cannot be one: somebody controls the pod, and no list names it. */
const unnamedController = "?";

/** Never throws. */
function readControllerKind(metadata: Unchecked<V1ObjectMeta>): string | undefined {
  const controller = controllerOf(metadata);
  if (controller === undefined) return undefined;
  const { kind, apiVersion } = controller;
  if (typeof kind !== "string" || typeof apiVersion !== "string") return unnamedController;
  const slash = apiVersion.indexOf("/");
  const text = slash === -1 ? kind : `${kind}.${apiVersion.slice(0, slash)}`;
  return isGroupKind(text) ? text : unnamedController;
}

function controllerOf(metadata: Unchecked<V1ObjectMeta>): Unchecked<V1OwnerReference> | undefined {
  for (const one of asList(metadata.ownerReferences)) {
    const owner = fieldsOf<V1OwnerReference>(one);
    if (owner.controller === true) return owner;
  }
  return undefined;
}

/**
 * By the labels that the controllers of Deployments and of Argo Rollouts set on their ReplicaSets and pods: a pod
 * itself names its ReplicaSet only.
 */
const ownersOfReplicaSets = [
  ["pod-template-hash", "Deployment"],
  ["rollouts-pod-template-hash", "Rollout"],
] as const;

/** Never throws, whatever the metadata holds. */
export function readWorkloadKind(metadata: Unchecked<V1ObjectMeta>): string {
  const controller = controllerOf(metadata);
  if (controller === undefined) return noWorkload;
  const { kind } = controller;
  if (typeof kind !== "string" || !kindPattern.test(kind)) return otherWorkload;
  if (kind !== "ReplicaSet") return kind;
  const labels = fieldsOf(metadata.labels);
  return ownersOfReplicaSets.find(([label]) => Object.hasOwn(labels, label))?.[1] ?? kind;
}
