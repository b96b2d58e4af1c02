/**
 * The aggregator: counts the pods of one cell into PodProtector statuses and settles admission history.
 * - controller.ts: events in, work queue. waiting.ts: who waits for which news. reconcile.ts: one aggregation.
 * - protector-state.ts: what is remembered of a PodProtector. cell-writer.ts: its reads and writes.
 * - cell-watch.ts: how far the snapshot of the cell has come. cell-pods.ts: its pods. pod-decoder.ts: what is kept of a
 *   pod. match-table.ts: which pods a PodProtector counts.
 * - barrier.ts: LIST barriers. fencer.ts: fences.
 * The rules themselves are in accounting/ (settle/settlement.ts, count/cell-plan.ts).
 */
export { Aggregator, type AggregatorSettings } from "./controller.ts";
export { createAggregatorMetrics } from "./metrics.ts";
export { createLabelInterner, createPodDecoder } from "./pod-decoder.ts";
