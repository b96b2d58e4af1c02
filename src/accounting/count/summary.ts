/**
 * status.summary: sums over all cells. Source: upstream, with the counters of compacted buckets in full
 * (docs/compatibility.md#upstream-defects).
 */
import { epochMicrosOf, type MicroTime } from "../../api/micro-time.ts";
import { type Aggregation, type Bucket, type CellStatus, type Summary } from "../../api/v1alpha1/pod-protector.ts";
import { totalWeight } from "../history/bucket.ts";

/** Recomputes the summary from the cells; the same cells always give an equal summary. */
export function summarize(cells: readonly CellStatus[]): Summary {
  let total = 0;
  let available = 0;
  let unsettled = 0;
  let ready = 0;
  let scheduled = 0;
  let running = 0;
  let initialized = 0;
  let latencyMillis = 0;
  for (const { aggregation, admissionHistory } of cells) {
    total += aggregation?.totalReplicas ?? 0;
    available += aggregation?.availableReplicas ?? 0;
    ready += aggregation?.readyReplicas ?? 0;
    scheduled += aggregation?.scheduledReplicas ?? 0;
    running += aggregation?.runningReplicas ?? 0;
    initialized += aggregation?.initializedReplicas ?? 0;
    unsettled += totalWeight(admissionHistory?.buckets);
    latencyMillis = Math.max(latencyMillis, latencyMillisOf(aggregation, admissionHistory?.buckets ?? []));
  }
  return {
    totalReplicas: total,
    aggregatedAvailableReplicas: available,
    estimatedAvailableReplicas: available - unsettled,
    ...(latencyMillis > 0 ? { maxLatencyMillis: latencyMillis } : {}),
    ...(ready > 0 ? { aggregatedReady: ready } : {}),
    ...(scheduled > 0 ? { aggregatedScheduled: scheduled } : {}),
    ...(running > 0 ? { aggregatedRunning: running } : {}),
    ...(initialized > 0 ? { aggregatedInitialized: initialized } : {}),
  };
}

/**
 * By how much the newest admission is ahead of what the counts cover. An object on which nothing happens is not
 * written, so its lastEventTime grows old without being behind: what lies between its counting and the oldest admission
 * that is open since is no latency (upstream shows a minute of it after a quiet minute). Clocks of two machines are
 * compared, for people only.
 */
function latencyMillisOf(aggregation: Aggregation | undefined, buckets: readonly Bucket[]): number {
  const { lastEventTime: covered, countedAt } = aggregation ?? {};
  if (covered === undefined) return 0;
  let oldest: MicroTime | undefined;
  let newest = covered;
  for (const { startTime } of buckets) {
    if (startTime === "") continue;
    if (oldest === undefined || startTime < oldest) oldest = startTime;
    if (startTime > newest) newest = startTime;
  }
  if (oldest === undefined || newest === covered) return 0;
  const wasQuiet = countedAt !== undefined && countedAt < oldest;
  const quietMicros = wasQuiet ? epochMicrosOf(oldest) - epochMicrosOf(countedAt) : 0;
  return Math.floor((epochMicrosOf(newest) - epochMicrosOf(covered) - quietMicros) / 1000);
}
