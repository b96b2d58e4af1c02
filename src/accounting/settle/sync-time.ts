/**
 * How the aggregator knows that an admitted deletion is part of the counts, and how far the watch has come
 * (`lastEventTime`).
 *
 * `observed` is settlement.ts. The others are upstream's algorithms (docs/accounting.md#observed-time): an admission is
 * forgotten once the time of the newest event is past the time of its bucket. They compare clocks of several machines
 * and do not look at the pod, so they can break the floor:
 * - `clock` whenever the watch lags,
 * - all of them when a deletion commits after the bucket's time has passed.
 *
 * A relist delivers only what has changed meanwhile, as events. Nothing is resynced; bookmarks and barriers do not move
 * the time.
 */
import {
  annotationTimeReader,
  type ReadEventTime,
  readManagedFieldsTime,
  readStatusTime,
  type PodRecord,
} from "../../api/pod.ts";
import { formatMicroTime } from "../../api/micro-time.ts";
import { type Bucket } from "../../api/v1alpha1/pod-protector.ts";
import { assertNever } from "../../util/assert.ts";
import { type EpochMicros } from "../../util/clock.ts";
import { bucketWeight } from "../history/bucket.ts";
import { settle, type Settlement, type SettlementInput } from "./settlement.ts";

export type SyncTimeAlgorithm =
  | { readonly kind: "observed" | "clock" | "status" | "managed-fields" }
  /** `key` of the annotation that a patched API server stamps on every write. */
  | { readonly kind: "annotation"; readonly key: string };

export interface PodEvent {
  readonly type: "added" | "modified" | "deleted";
  readonly object: Pick<PodRecord, "eventTime">;
}

/**
 * Each `of…` gives the moment up to which the cell's watch has advanced, as this algorithm sees it; undefined = nothing
 * new.
 */
export interface SyncTime {
  /** What becomes a pod's eventTime. */
  readonly readEventTime: ReadEventTime;
  /** `now`: the aggregator's wall clock. */
  readonly ofEvent: (event: PodEvent, now: EpochMicros) => EpochMicros | undefined;
  /** No event has ever come, and the cell was listed without pods. */
  readonly ofEmptyList: (now: EpochMicros) => EpochMicros | undefined;
  /** A LIST barrier that was sent at `sentAt` has been passed. */
  readonly ofBarrier: (sentAt: EpochMicros) => EpochMicros | undefined;
  /** Judges every bucket of one cell of one PodProtector. */
  readonly settle: (input: SettlementInput, lastEventTime: EpochMicros | undefined) => Settlement;
}

export function createSyncTime(algorithm: SyncTimeAlgorithm): SyncTime {
  switch (algorithm.kind) {
    case "observed":
      return observed;
    case "clock":
      return { ...byTime(() => undefined), ofEvent: (_, now) => now };
    case "status":
      return byTime(readStatusTime);
    case "managed-fields":
      return byTime(readManagedFieldsTime);
    case "annotation":
      return byTime(annotationTimeReader(algorithm.key));
    default:
      return assertNever(algorithm);
  }
}

/** Its time is only informational, for people and upstream's readers. */
const observed: SyncTime = {
  readEventTime: readManagedFieldsTime,
  ofEvent: ({ type, object }) => (type === "deleted" ? undefined : object.eventTime),
  ofEmptyList: () => undefined,
  ofBarrier: (sentAt) => sentAt,
  settle,
};

function byTime(readEventTime: ReadEventTime): SyncTime {
  return {
    readEventTime,
    ofEvent: ({ object }) => object.eventTime,
    ofEmptyList: (now) => now,
    ofBarrier: () => undefined,
    settle: ({ buckets }, lastEventTime) => settleByTime(buckets, lastEventTime),
  };
}

/**
 * Drops each bucket whose last admission is before `lastEventTime`; at the same time it stays, as in upstream. A bucket
 * with a malformed time stays forever (the CRD allows none).
 */
export function settleByTime(buckets: readonly Bucket[], lastEventTime: EpochMicros | undefined): Settlement {
  const kept: Bucket[] = [];
  const covered = lastEventTime === undefined ? "" : formatMicroTime(lastEventTime);
  let settledWeight = 0;
  for (const bucket of buckets) {
    const last = bucket.endTime ?? bucket.startTime;
    if (last !== "" && last < covered) settledWeight += bucketWeight(bucket);
    else kept.push(bucket);
  }
  return {
    buckets: settledWeight === 0 ? buckets : kept,
    settled: new Map(settledWeight === 0 ? [] : [["event-time", settledWeight]]),
    fence: [],
    barrierFromMs: undefined,
    wakeAtMs: undefined,
  };
}
