/**
 * The aggregator: counts the pods of one cell into PodProtector statuses and settles admission history.
 * - controller.ts: events in, queue, waits. reconcile.ts: one aggregation.
 * - wall-clock-steps.ts: when the wall clock was set. pruning-report.ts: a CRD that drops our fields.
 * - cell-pods.ts: the snapshot. match-table.ts: which pods a protector counts. protector-state.ts: what is remembered
 *   of a protector.
 * - barrier.ts: LIST barriers. fencer.ts: fences. The rules themselves are in core/ (settlement.ts, cell-plan.ts).
 */
export { Aggregator, type AggregatorSettings } from "./controller.ts";
export { createLabelInterner } from "./label-interner.ts";
export { type AggregatorMetrics, createAggregatorMetrics } from "./metrics.ts";
