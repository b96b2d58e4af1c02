/**
 * The aggregator: counts the pods of one cell into PodProtector statuses and settles admission history. controller.ts
 * takes the events in. Its rooms, from the bottom to the top:
 * - watching/: the pods of the cell and the PodProtectors, and how far the watch of each has come, by LIST barriers.
 * - counting/: which pods a PodProtector counts, when it is counted, by what, and the write. What is remembered of a
 *   PodProtector is in accounting/count/protector-memory.ts.
 * - audits/: whether deletions are reviewed, whether counts are right, which pods were lost, who is trusted.
 * - heartbeats/: when the cell beats, and whether it is this cluster's.
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
export { GuardWatch } from "./audits/guard-watch.ts";
export { entriesOf } from "./audits/guarded-namespaces.ts";
export { Heartbeat } from "./heartbeats/heartbeat.ts";
export { type AggregatorMetrics, createAggregatorMetrics, createHeartbeatMetrics } from "./metrics.ts";
export { createLabelInterner, createPodDecoder } from "./watching/pod-decoder.ts";
export { ProtectorWatch } from "./watching/protector-watch.ts";
export { Tenure } from "./heartbeats/tenure.ts";
export { VanishedPods } from "./audits/vanished-pods.ts";
