/**
 * The aggregator: counts the pods of one cell into PodProtector statuses and settles admission history.
 * - controller.ts: events in, work queue. waiting.ts: who waits for which news. reconcile.ts: one aggregation.
 *   dependencies.ts: what it is made with.
 * - protector-state.ts: what is remembered of a PodProtector. cell-writer.ts: its reads and writes.
 * - cell-watch.ts: how far the snapshot of the cell has come. cell-pods.ts: its pods. pod-decoder.ts: what is kept of a
 *   pod. match-table.ts: which pods a PodProtector counts.
 *   compact-pod.ts: how. self-check.ts: whether it is what the pods say.
 * - barrier.ts: LIST barriers. fencer.ts: fences.
 * - heartbeat.ts: when the cell beats. freshness.ts: what proves that a watch is fresh. protector-watch.ts: that of
 *   PodProtectors. backlog.ts: what is not counted. cell-lease-writer.ts: the write. heartbeat-metrics.ts
 * - tenure.ts, cell-claim.ts: one cell, one cluster.
 * - coverage.ts: pods that nothing protects. coverage-report.ts: what people see of it.
 * - gate-probe.ts, gate-state.ts: whether deletions are reviewed. vanished-pods.ts: pods that were lost.
 * - ca-bundle.ts: the authorities of the webhook that API servers trust.
 * The rules themselves are in accounting/ (settle/settlement.ts, count/cell-plan.ts).
 */
export { CaBundle } from "./audits/ca-bundle.ts";
export { CellClaim } from "./heartbeats/cell-claim.ts";
export { CellLeaseWriter } from "./heartbeats/cell-lease-writer.ts";
export { Aggregator } from "./controller.ts";
export { Coverage } from "./counting/coverage.ts";
export { CoverageReport } from "./counting/coverage-report.ts";
export { type AggregatorSettings } from "./counting/dependencies.ts";
export { GateProbe } from "./audits/gate-probe.ts";
export { createHeartbeatMetrics } from "./heartbeats/heartbeat-metrics.ts";
export { Heartbeat } from "./heartbeats/heartbeat.ts";
export { type AggregatorMetrics, createAggregatorMetrics } from "./metrics.ts";
export { createLabelInterner, createPodDecoder } from "./watching/pod-decoder.ts";
export { ProtectorWatch } from "./watching/protector-watch.ts";
export { Tenure } from "./heartbeats/tenure.ts";
export { VanishedPods } from "./audits/vanished-pods.ts";
