/**
 * The moment that an event of a pod proves: the pod was written then, so a watch that delivers the event has advanced
 * at least that far. Each reader trusts other fields; accounting/settle/sync-time.ts says which algorithm uses which.
 * Times are texts (JSON) or Dates (protobuf).
 */
import { type EpochMicros, laterOf } from "../util/clock.ts";
import { asList, fieldsOf } from "./json.ts";
import { parseTime } from "./micro-time.ts";
import { type Unchecked, type V1ObjectMeta, type V1PodCondition, type V1PodStatus } from "./models.ts";
import { annotations } from "./v1alpha1/names.ts";

/** Reads `metadata` and `status` of a pod; undefined when they prove no time. Never throws. */
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
