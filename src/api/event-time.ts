/**
 * The moment that an event of a pod proves: the pod was written then, so a watch that delivers the event has advanced
 * at least that far. Each reader trusts other fields; accounting/settle/sync-time.ts says which algorithm uses which.
 * Times are texts (JSON) or Dates (protobuf).
 */
import { type EpochMicros, laterOf } from "../util/clock.ts";
import { asList, asObject, type Json } from "./json.ts";
import { parseTime } from "./micro-time.ts";
import { annotations } from "./v1alpha1/names.ts";

/** Reads `metadata` and `status` of a pod; undefined when they prove no time. Never throws. */
export type ReadEventTime = (metadata: Json, status: Json | undefined) => EpochMicros | undefined;

/** The newest of creation, request of the deletion, touch of the update-trigger, and managedFields times. */
export const readManagedFieldsTime: ReadEventTime = (metadata) => {
  let newest = readOwnTime(metadata);
  for (const entry of asList(metadata["managedFields"])) newest = laterOf(newest, parseTime(asObject(entry)?.["time"]));
  return newest;
};

/**
 * The newest of creation, request of the deletion, touch of the update-trigger, and transitions and probes of
 * conditions.
 */
export const readStatusTime: ReadEventTime = (metadata, status) => {
  let newest = readOwnTime(metadata);
  for (const item of asList(status?.["conditions"])) {
    const condition = asObject(item);
    newest = laterOf(newest, parseTime(condition?.["lastTransitionTime"]));
    newest = laterOf(newest, parseTime(condition?.["lastProbeTime"]));
  }
  return newest;
};

/**
 * Only the annotation `key`: RFC 3339 with at most nine fractional digits, cut to microseconds. Other values are
 * ignored.
 */
export function annotationTimeReader(key: string): ReadEventTime {
  return (metadata) => parseTime(asObject(metadata["annotations"])?.[key]);
}

function readOwnTime(metadata: Json): EpochMicros | undefined {
  const created = parseTime(metadata["creationTimestamp"]);
  const touched = parseTime(asObject(metadata["annotations"])?.[annotations.updateTriggerTime]);
  const newest = laterOf(created, touched);
  // deletionTimestamp is the time of the request plus the grace period, so it is in the future.
  const deletion = parseTime(metadata["deletionTimestamp"]);
  const graceSeconds = metadata["deletionGracePeriodSeconds"];
  if (deletion === undefined || typeof graceSeconds !== "number") return newest;
  return laterOf(newest, (deletion - graceSeconds * 1_000_000) as EpochMicros);
}
