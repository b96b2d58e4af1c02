/**
 * What Podseidon reads of a pod, as a flat record. Objects of several kilobytes become a few hundred bytes; the caller
 * can share label sets through `intern`.
 */
import { type ObjectKey, objectKey } from "./object-key.ts";
import { type EpochMicros } from "../util/clock.ts";
import { type ReadEventTime, readManagedFieldsTime } from "./event-time.ts";
import { asList, asObject, fieldsOf } from "./json.ts";
import { type Unchecked, type V1ObjectMeta, type V1Pod, type V1PodCondition, type V1PodStatus } from "./models.ts";
import { parseTime } from "./micro-time.ts";
import { parseResourceVersion, type ResourceVersion } from "./resource-version.ts";
import { type ReadWorkloadKind } from "./workload-kind.ts";

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
  /** lastTransitionTime of the Ready condition while it is True. */
  readonly readySince: EpochMicros | undefined;
  /** The newest moment that the object itself proves, by the reader that `readPodRecord` was given. */
  readonly eventTime: EpochMicros | undefined;
  /** Of its workload, by the reader that `readPodRecord` was given; undefined without one. */
  readonly workloadKind: string | undefined;
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
    readySince: conditions.readySince,
    eventTime: readEventTime(metadata, status),
    workloadKind: readKind(metadata),
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

function readConditions(
  status: Unchecked<V1PodStatus> | undefined,
): Pick<PodRecord, "isScheduled" | "isInitialized" | "isReady" | "readySince"> {
  let isScheduled = false;
  let isInitialized = false;
  let isReady = false;
  let readySince: EpochMicros | undefined;
  for (const item of asList(status?.conditions)) {
    const { type, status: is, lastTransitionTime } = fieldsOf<V1PodCondition>(item);
    if (is !== "True") continue;
    if (type === "PodScheduled") isScheduled = true;
    else if (type === "Initialized") isInitialized = true;
    else if (type === "Ready") {
      isReady = true;
      readySince = parseTime(lastTransitionTime);
    }
  }
  return { isScheduled, isInitialized, isReady, readySince };
}
