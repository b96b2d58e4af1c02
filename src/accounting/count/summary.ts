/**
 * status.summary: sums over all cells. Source: upstream, with the counters of compacted buckets in full
 * (docs/compatibility.md#upstream-defects).
 */
import { epochMicrosOf } from "../../api/micro-time.ts";
import { type CellStatus, type Summary } from "../../api/v1alpha1/pod-protector.ts";
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
    const covered = aggregation?.lastEventTime;
    if (covered === undefined) continue;
    let newest = covered;
    for (const { startTime } of admissionHistory?.buckets ?? []) {
      if (startTime !== "" && startTime > newest) newest = startTime;
    }
    if (newest === covered) continue;
    latencyMillis = Math.max(latencyMillis, Math.floor((epochMicrosOf(newest) - epochMicrosOf(covered)) / 1000));
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
